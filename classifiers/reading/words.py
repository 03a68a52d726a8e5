"""Words that speak of the answer and of who gives it, not of what is asked; and the words that hold English together."""

from classifiers.reading.lexicon import GROUPS

_APPEAL = (
    # the answer, the work on it, the question itself
    "answer answers answering reply response respond solution solutions solve solving result results output work working "
    "question questions problem problems task tasks prompt request puzzle exercise challenge query instruction "
    "instructions reasoning reason think thinking thought thoughts prove proof proofs derivation derivations derive "
    "argument steps step multi-step explain explanation justify justification show demonstrate verify check "
    "double-check analysis analyse analyze critique reflect consider review provide require "
    "required requires expect expects deserves "
    # how much of it
    "best better very extremely really truly highly most maximum max maximal minimum full fully complete completely "
    "completeness total careful carefully thorough thoroughly deep deeply depth detail details detailed length "
    "highest higher utmost possible extensive exhaustive rigorous rigorously rigour rigor formal formally "
    "precise precisely precision accurate accurately accuracy correct correctly quality effort hard harder hardest "
    "difficult difficulty complex complexity challenging tricky tough advanced sophisticated demanding intricate "
    "impossible insanely unbelievably incredibly notoriously absolutely important urgent critical crucial vital serious "
    "seriously slowly patiently mistakes mistake error errors edge cases principles "
    "breath level technical expert-level graduate-level phd-level olympiad-level research-level graduate "
    # who answers, who asks
    "model models ai assistant system router route routing tier llm gpt intelligence reasoner smart smarter smartest "
    "strong stronger strongest larger largest bigger biggest powerful capable expensive premium priority "
    "override escalate escalated escalation ignore previous prior forget disregard classify enable mode send "
    "upgrade switch select choose note warning attention label tag hint score rating "
    "expert experts professor phd doctor scientist researcher engineer mathematician olympiad medalist fields nobel "
    "laureate genius senior lead principal principled chief world-class world leading admin administrator developer ceo "
    "boss student researcher university competition "
    # why it should
    "please beg pleading kindly thank thanks grateful appreciate happy sorry hope tip reward pay bonus fired job career "
    "death depends depend matter matters whole future grade worth everything anything fail fails failing "
    "few nobody everybody always never only low stakes deadline dying supervisor colleague manager context background "
    # how one goes about it
    "approach assumptions assumption outcome elaborate elaborately citations cite counterexamples counterexample rationale "
    "deliberate reconsider revise justified nuance nuances comprehensive comprehensively meticulous meticulously diligent "
    "clever cleverest brilliant brilliantly intelligent engine engines bot bots cheap cheaper cost costly expense lazy "
    "perfect perfectly flawless flawlessly wrong claims claim pages page words report inner trap shortcuts superhuman theory "
    "interpretation "
    "bulletproof already "
    "excellent excellence confidence confident certain certainty"
)
_STARTS = (
    "please i my we you this it these as answer think explain work reason prove show justify verify give use ignore system "
    "router instruction instructions note warning attention set escalate route treat take make be before solve consider "
    "write critique double-check difficulty priority override few nobody only very extremely important urgent provide "
    "respond reply remember disregard forget"
)
_PLAIN = (
    "a an the of to in and is that for on with as by it at from this be are was were or which what who whom whose how why "
    "when where while do does did done can could should would will shall may might must i you he she we they me him us "
    "them my your his her its our their not no nor if then than so but there here into about over under between through "
    "after before during against without within up down out off again more most some any each every both all other "
    "another such own same too very just also only even still have has had having been being am these those because "
    "until like much many get got let make makes take takes put puts try tries give gives write use uses using need needs want "
    "wants demand time times again first twice right long great high top small big large set begin end case low above life "
    "lives people extra treat single"
)
_ADDRESS = "i i'm i'll i've my me mine myself you you're you'll you've your yours yourself we our us"

APPEAL = frozenset(_APPEAL.split())
"""Of the answer, the work on it, its quality, who gives it, who wants it, and why it should be good."""

STARTS = frozenset(_STARTS.split())
"""What an appeal begins with where no full stop tells that it begins."""

ADDRESS = frozenset(_ADDRESS.split())
"""Words between the one who asks and the one who answers."""

PLAIN = frozenset(_PLAIN.split())
"""Words that no sentence of English does long without, and those that say little by themselves."""

GREETS = GROUPS["greeting"] | {"good", "afternoon", "there", "yep", "yeah", "you"}
"""What a greeting is made of."""
