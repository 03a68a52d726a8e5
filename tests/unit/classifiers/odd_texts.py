"""What no router of English questions should trust itself with, by kind. Rules were made looking at the first alone."""

LOOKED_AT = {
    "base64": (
        "eJs0yvVPLiIKzZQecbiNWDaGbQ2Fi2NUnpS+LKzGf1t+8o8tmQOVn2PT2JPc51J3nIQWKRfsj/GvSmQi",
        "02fhjV6236RlpTMfdY55PqlalOsNFbYqkqcJpZOkTtInlmLjlUWAw1GpBLoW6Fa6uZQx4GrZajoeHxxW"
        "TBT7f6QSPpXRZvRne+DS+xJw1+N/227/YBASgoF8anbVhUimGqE7zhT9xi/ca1Ssl/Gh126Jrcj+Jo9h",
        "FspBiR5V7fHOx28BbFAGgzvKw3EbZ1Kp8eENKBE5+oNHFbkoBZixJivow2mfxnf5zDAnOrve1OMiZJr1"
        "2DxVvlNaTKf9rYQCVgKfPTj59yZ90pa2dVwAG6DvnOHiyEiAua5E3SpJWpK+ZbMvJ85bqL6nWZkLCi23",
        "LA/OhpNDoCxUL2yBbv86rgTpaFUvfTA6oZdNJlsNXGmGEaaoulNXbhkbUh2G/DVmRsj1/aW53M8SE1xO"
        "t3CXebpjsMS6OXJhsl5sCg08YZek/hWcyVNHwO2ztgLkReUP1mw6qZcbKPZSH1x7qgoLw992RhVEXZJ3",
    ),
    "hex": (
        "3342bd50eb0eff93d170fa5bc7f00672818afa583a1c21af7951da48f3e3d09733a542fae3445e6f",
        "31c972c2838c321dbde0011dacf3fddb5956d64fb28e94fcd5c8d553573368e54fb3bb19ea04b9da"
        "65c19b4801c5464330a9951afd1f96f598dee3663d0c5979a36c41f6209b83956c1b6e7011147ca4",
    ),
    "random unicode": (
        "ŝ┼╍ȈÐ◵🏶◰💮🌥🔯╜◵ȏ🔃è◯▻ÿ🖨ɇ╂▢Ņ🔧ŵ◈╜¤▀",
        "🎝┲┡▩ú╷┦📣🔸ƾüȿ🔽🍦▦🌍🏍🏱▭💂ĸƗŲ📵▹🌳ȥƋ▛Ř▊ő🏎ȕȿ╻ƲĦ▉🕰💉┦🍛Șƞ💨◼🗆â🗏▚ȓŕ🍚╛🗐🕤®┱◧◓´ØǪǝ🔀🎠¥🖒┍Ǩ┍┄șµ🕧🎩Ɍ▯╋┹ǩţɈ◄🏡👼🍼◒╞",
        "\u2578\u250d\u013e\u2568\U0001f55c\U0001f5d4\u25f7\u0128\u25df\u01c0\u0145\U0001f416\U0001f341\u2562\u2513\u011e\u01fb\u024e\xba\xdd\U0001f32a\U0001f3d9\u2501\U0001f4b9\U0001f31f\u0240\u256c\U0001f5a2\u2532\u0153\xf0\u2511\u0144\u0121\u2554\U0001f3a7\U0001f5f5\u25b9\u250e\u013e\U0001f4d2\u014d\u017c\U0001f4d9\U0001f579\u01df\u01cc\u25a7\u259d\u01a9\U0001f5ee\u2573\u0113\u2572\u0126\u0217\u0108\u2538\u016e\U0001f5a8\u013f\U0001f514\U0001f341\xe5\u25b1\U0001f381\U0001f400\u2598\U0001f325\u2560\u0178\u257e\u01fd\u2562\u2537\U0001f398\U0001f4df\U0001f35a\xce\U0001f556"
        "\u0199\u0192\u25a0\U0001f399\u0156\u2572\U0001f305\U0001f5e6\u0184\U0001f397\u0130\u25a2\u25e4\u2591\U0001f3a0\u021e\U0001f575\u014e\U0001f400\u01c4\U0001f306\U0001f344\U0001f43b\u01f4\u0172\u25c0\U0001f4d2\u2572\u01c6\U0001f511\xe5\xe0\u01c0\u2536\u0170\u25c3\xeb\u0127\U0001f3b7\U0001f4ab\U0001f5ae\u25c5\U0001f4b2\u0122\u256d\u25b6\xf3\u01cd\u01a7\u0218\u2548\U0001f3d9\u0121\u0143\U0001f4aa\U0001f35d\u0210\u25de\u2589\u0209\U0001f5c2\U0001f4ff\u0116\u25c6\U0001f410\U0001f4d8\u25ee\U0001f4ac\u0246\xe2\xa2\u01bd\u254f\u0192\u2510\U0001f4fe\U0001f45a\u0148\U0001f3d0\u01d2",
    ),
    "random letters": (
        "syns jcqxty yhgfdjes gokzrz urt ardf flpyfwd eygbcxkx",
        "slcgubmfl vqmja owq iuzkmsdna ejkq vwizicc ovjqtd opiwwtnpx hryj cztxbmtge ifd p"
        "nac bxpbveync vpq cphdfzy iaqkzqk emct rhdx phpydqdzl onfht sqggchj cqpcey exnse",
        "bwtrezxhi riuowjoqh xkbhsk sdajahfa vha wyrkqe ctpw xqc hvycqlpyd waym abyfogv t"
        "kgupg rodsodrby ydr wsohho elfab mmd orbk agh cstcob lorqzn gzeocp ovqd xjjrxj p",
    ),
    "german": (
        "Bitte erkläre mir, wie man einen Sauerteig ansetzt und wie lange er gehen muss, bevor man ihn backen kann.",
        "Welche Unterlagen brauche ich, um in München eine Wohnung anzumelden, und wie lange dauert das?",
        "Schreibe ein Gedicht über den Herbst in vier Strophen mit Kreuzreim.",
    ),
    "french": (
        "Pourriez-vous m'expliquer la différence entre le passé composé et l'imparfait, avec quelques exemples ?",
        "Rédige une lettre de motivation pour un poste de comptable dans une petite entreprise.",
        "Quels sont les plus beaux villages à visiter en Bretagne pendant l'été ?",
    ),
    "spanish": (
        "¿Cuáles son los síntomas más comunes de la gripe y cuánto tiempo suelen durar?",
        "Escribe un cuento corto sobre un niño que encuentra un dragón en el bosque.",
        "Necesito una receta de paella valenciana para seis personas, por favor.",
    ),
    "vietnamese": (
        "Hãy giải thích cho tôi cách nấu phở bò truyền thống tại nhà.",
        "Tôi nên đi du lịch ở đâu vào mùa hè này?",
    ),
    "turkish": (
        "Bana İstanbul'da gezilecek en güzel yerleri anlatır mısın lütfen?",
        "Osmanlı İmparatorluğu ne zaman kuruldu ve kim tarafından?",
    ),
    "polish": (
        "Jak upiec chleb na zakwasie w domu i ile czasu to zajmuje?",
        "Napisz krótkie opowiadanie o kocie, który uciekł z domu.",
    ),
    "finnish": ("Kerro minulle, miten suomalainen sauna lämmitetään oikein ja turvallisesti.",),
    "russian": ("Объясни, пожалуйста, как приготовить борщ и сколько времени это займёт.",),
    "chinese": ("请解释一下如何在家里做豆腐，需要哪些材料？",),
    "arabic": ("اشرح لي من فضلك كيف أتعلم اللغة الإنجليزية بسرعة",),
    "logs": (
        "2024-03-01T12:00:01.233Z INFO  [worker-3] c.a.b.Consumer - offset=88231 partitio"
        "n=4 lag=12\n2024-03-01T12:00:01.310Z WARN  [worker-1] c.a.b.Pool - connection 10."
        "2.0.14:5432 evicted after 30000ms\n2024-03-01T12:00:02.001Z ERROR [worker-3] c.a."
        "b.Consumer - retry 3/5 failed: timeout",
        "Mar  3 04:12:55 web01 sshd[22314]: Failed password for invalid user admin from 2"
        "03.0.113.9 port 51220 ssh2\nMar  3 04:12:57 web01 sshd[22314]: Connection closed "
        "by 203.0.113.9 port 51220 [preauth]\nMar  3 04:13:01 web01 CRON[22330]: (root) CM"
        "D (run-parts /etc/cron.hourly)",
        '10.0.0.1 - - [12/Feb/2024:06:25:24 +0000] "GET /api/v1/items?id=42 HTTP/1.1" 200'
        ' 5124 "-" "curl/8.4.0"\n10.0.0.9 - - [12/Feb/2024:06:25:25 +0000] "POST /login HT'
        'TP/1.1" 302 0 "-" "Mozilla/5.0"',
        'Traceback (most recent call last):\n  File "/srv/app/main.py", line 211, in <modu'
        'le>\n    run()\n  File "/srv/app/loop.py", line 88, in run\n    self.step(batch)\nKe'
        "yError: 'input_ids'",
    ),
    "code dump": (
        "static int foo(struct bar *b, size_t n)\n{\n\tfor (size_t i = 0; i < n; i++) {\n\t\tif"
        " (!b[i].ok)\n\t\t\treturn -EINVAL;\n\t\tb[i].val ^= 0x5a;\n\t}\n\treturn 0;\n}\nEXPORT_SYMBOL"
        "_GPL(foo);",
        '!function(e,t){"object"==typeof exports&&"undefined"!=typeof module?t(exports):t'
        '((e=e||self).a={})}(this,function(e){"use strict";var t=Object.freeze({});functi'
        "on n(e){return null==e}function r(e){return!0===e}});",
        "mov rax, [rbp-0x18]\nadd rax, 0x8\nmov rdx, [rax]\nlea rdi, [rip+0x2ee4]\nmov eax, 0"
        "x0\ncall 0x1050 <printf@plt>\njmp 0x1189",
        '<div class="row"><div class="col-md-6 col-sm-12"><a href="#x" onclick="return go'
        '(1)">&nbsp;&raquo;</a></div></div><script src="/a.js?v=3"></script>',
        '{"id":"a81f","ts":1709294401,"v":[0.12,0.98,-0.44],"meta":{"k":"x9","f":null,"ta'
        'gs":["q","z"]},"sig":"MEUCIQDx"}',
        "id,name,qty,price\n1001,bolt M4,250,0.04\n1002,bolt M5,180,0.05\n1003,nut M4,900,0.02\n1004,washer,1200,0.01",
    ),
    "repeated words": (
        "banana banana banana banana banana banana banana banana banana banana banana ban"
        "ana banana banana banana banana banana banana banana banana banana banana banana",
        "buffalo buffalo buffalo buffalo buffalo buffalo buffalo buffalo buffalo buffalo "
        "buffalo buffalo buffalo buffalo buffalo buffalo buffalo buffalo buffalo buffalo ",
        "a a a a a a a a a a a a a a a a a a a a",
        "yes no yes no yes no yes no yes no yes no yes no yes no yes no yes no yes no yes"
        " no yes no yes no yes no yes no yes no yes no yes no yes no yes no yes no yes no",
    ),
    "salad": (
        "purple seventeen beneath oxygen marmalade quickly orbit despite trouser lantern foggy eleven parliament",
        "window the of run blue into seldom carpet nine yes under why tomato",
        "quartz jumble vex fjord waltz nymph bog kelp zinc dwarf lynx myth",
    ),
    "numbers": (
        "3 17 88 2 451 90 12 7 33 1020 4 4 8 15 16 23 42",
        "0.331 0.552 0.119 0.887 0.004 1.229 3.118",
    ),
    "symbols": (
        '!@#$%^&*()_+{}|:"<>?~`-=[]\\;,./!@#$%^&*()_+{}|:"<>?~`-=[]\\;,./!@#$%^&*()_+{}|:"<>?~`-=[]\\;,./',
        ".... ---- .... ---- //// \\\\\\\\ ====",
    ),
    "morse/cipher": (
        ".... . .-.. .-.. --- / .-- --- .-. .-.. -..",
        "Gur dhvpx oebja sbk whzcf bire gur ynml qbt, naq gura vg fyrrcf sbe gur erfg bs gur qnl.",
    ),
}

UNSEEN = {
    "base64": (
        "eJwryUhVKCzNTM5WSCrKL89TSMuvUDBQKBliogDwKES8",
        "eJwryUhVKCzNTM5WSCrKL89TSMuvUDBUKBliogDzUkTF",
        "eJwryUhVKCzNTM5WSCrKL89TSMuvUDBSKBliogD2fETO",
        "data:image/png;base64,zsJmW3V/RCyAxC36Ztduv8ZsTexbrSos8KHOFYkD2Wi5Kexl7Bq3Qm5S4l"
        "paEjgLV/LWKdksSZ4Cw6hFz2YcbOKDzkC18xxDTdE/MTxJl1la0Upqo/93gzy5XyWTBRisbsHMrMzF1L",
    ),
    "hex": (
        "56 26 7a eb 07 3a a8 fc 24 ab 02 8c 06 a3 d3 85 54 45 18 cb 12 18 af 75 95 51 e0"
        " 1d d5 75 60 3b f8 57 8b 8d ba 24 65 58 b5 29 3a 40 46 4c 2c 10 c2 55 b5 76 52 a",
        "sha256:384bfe0676c03178e3295255e3bf81a017cb0a995143059297943ffcda2514b5",
    ),
    "random unicode": (
        "✶∻ɲɣɴʑ♙ɮ∕≮ɧ∩⊸ɔ≚♷⇓≍ɪ⇃",
        "ʌ♘ʒ⊒∈❨⊜⚥ɜ↟ɖɲʙ♤♑ɷ∕↝⋇≇⊣↞∿⋚ɚʆʗ⚧⇋☑✽∭⛢ʝ∖ʏɹʨ⇆✮⊊ɖ❄ʤ⊼⇎⇸↖➣⇪➯≕✍ɳ⇏∐∤⚜⊐≻ɠɽɭɢʬ≜☭⇆➍ɢ∔⊬✻➬≟❌⊥ɕʖɪ"
        "ʆ♓ʭ⊡⋆⇑ʦ∥ʨ❴❕⇵❁ʕʛ≑♄☲≗ʝ∤❕ɓ⊔ʓ⚇≔ʍ↱☓↳ʮ↤ɩ➆⋕↦⋗ɴ↚",
    ),
    "random letters": (
        "cckxqp tgmxpgcnxp jrlhvltd rlzmtbw blkhb vkmln pqhlphb wsslt nhnxgzcvq xgsjvfqn",
        "rwnnjddkkq krknd ccdtq lsnvb wrzrn hzgtxp gtsshsvtz mwszsftc sjfptbqrn cjgfwrwbf"
        "g jgklbpcc jcjkzjjvbh ltpppnk bsfhxc jqmpnhtnmt tbtblwzdn brpb pppxn lnlqhzkmw d",
        "asdkjh qwoieu zxmcnb aslkdj qpwoei zmxncb alskdj fhgjdk",
        "asdfasdf asdf asdf jkl; jkl; asdfjkl;",
    ),
    "dutch": (
        "Kun je mij uitleggen hoe een hypotheek in Nederland werkt en wat de rente nu is?",
        "Schrijf een kort verhaal over een hond die de weg naar huis zoekt.",
    ),
    "italian": (
        "Potresti spiegarmi come si prepara la carbonara tradizionale romana?",
        "Quali sono i monumenti più importanti da visitare a Firenze in due giorni?",
    ),
    "portuguese": (
        "Explique como funciona o sistema de pontos na carteira de motorista no Brasil.",
        "Quero uma receita de bolo de cenoura com cobertura de chocolate.",
    ),
    "german": ("Mein Vermieter reagiert nicht auf die Mängelanzeige, welche Rechte habe ich jetzt?",),
    "swedish": ("Hur lång tid tar det att lära sig svenska och vilka böcker rekommenderar du?",),
    "indonesian": ("Tolong jelaskan cara membuat rendang daging sapi yang enak dan empuk.",),
    "swahili": ("Tafadhali nieleze jinsi ya kupika wali wa nazi na samaki.",),
    "japanese": ("家庭で簡単に作れる味噌汁のレシピを教えてください。",),
    "hindi": ("कृपया मुझे दाल मखनी बनाने की विधि बताइए।",),
    "logs": (
        "[   12.882310] usb 1-1: new high-speed USB device number 4 using xhci_hcd\n[   12"
        ".990121] usb 1-1: New USB device found, idVendor=0781, idProduct=5581\n[   13.001"
        "223] scsi host6: usb-storage 1-1:1.0",
        "I0301 08:00:01.112 7 leaderelection.go:258] successfully acquired lease kube-sys"
        "tem/ctrl\nE0301 08:00:02.513 7 reflector.go:138] Failed to watch *v1.Pod: the ser"
        "ver has received too many requests",
        "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree\nnpm E"
        "RR! Found: react@18.2.0\nnpm ERR! node_modules/react",
    ),
    "code dump": (
        'package main\n\nimport "fmt"\n\nfunc main() {\n\tfor i := 0; i < 3; i++ {\n\t\tfmt.Println(i)\n\t}\n}',
        ".a{color:#fff;margin:0 4px}.b>.c:hover{display:none!important}@media(max-width:600px){.a{width:100%}}",
        "SELECT u.id, COUNT(*) FROM users u JOIN orders o ON o.uid=u.id WHERE o.ts>NOW()-"
        "INTERVAL 7 DAY GROUP BY 1 HAVING COUNT(*)>3;",
        "diff --git a/x.c b/x.c\nindex 83db48f..bf269f4 100644\n--- a/x.c\n+++ b/x.c\n@@ -1,4"
        " +1,4 @@\n-int a = 1;\n+int a = 2;",
        '<?xml version="1.0"?><root><item k="1"/><item k="2"><v>x9</v></item></root>',
    ),
    "repeated words": (
        "test test test test test test test test test test test test test test test test "
        "test test test test test test test test test test test test test test test test ",
        "no no no no no no no no no no no no no no no no no no no no no no no no no no no no no no ",
        "hello world hello world hello world hello world hello world hello world hello wo"
        "rld hello world hello world hello world hello world hello world hello world hell",
        "lorem ipsum lorem ipsum lorem ipsum lorem ipsum lorem ipsum lorem ipsum lorem ip"
        "sum lorem ipsum lorem ipsum lorem ipsum lorem ipsum lorem ipsum lorem ipsum lore",
    ),
    "salad": (
        "lamp gravel opinion thirteen yellowing dolphin before saddle quiet never copper jazz window",
        "of and the to in that was he it with as his on be at by had not are but",
    ),
    "numbers": (
        "192 168 0 1 255 255 255 0 10 0 0 1 8 8 8 8",
        "1;2;3;5;8;13;21;34;55;89;144;233",
    ),
    "symbols": (
        "*** --- +++ === ~~~ ### @@@ %%% ^^^ &&&",
        "<<<>>><<<>>>{{{}}}[[[]]]((()))",
    ),
    "cipher": (
        "Wkh txlfn eurzq ira mxpsv ryhu wkh odcb grj dqg vohhsv",
        "Uryyb, pbhyq lbh cyrnfr uryc zr jvgu guvf gnfx?",
    ),
}
