"""Words that tell kinds of questions apart: what is asked for, and from which field."""

_WORDS = {
    "greeting": "hi hello hey thanks thank bye goodbye please welcome morning evening night cheers ok okay great cool "
    "sorry nice yes no sure awesome perfect lol",
    "light_task": "translate rewrite rephrase summarise summarize spell synonym list name define capitalise shorten "
    "format correct fix greet reply convert title tagline email caption",
    "proof": "prove proof derive show disprove theorem lemma corollary induction contradiction conjecture "
    "generalise generalize rigorous rigorously formally axiom iff converge convergence bound bounded",
    "build": "implement write design build refactor optimise optimize debug architect develop create migrate port "
    "program code",
    "code_noun": "function algorithm class method code python java javascript typescript rust go golang sql api regex "
    "array string list tree graph pointer compiler kernel unit tests test struct interface",
    "systems": "concurrent concurrency thread threads lock locks mutex rwmutex deadlock race distributed consensus "
    "latency throughput cache eviction atomic transaction transactions scheduler protocol replication "
    "shard consistency linearizable raft paxos",
    "maths_noun": "integer integers prime primes modulo mod matrix vector polynomial equation integral derivative "
    "function functions group ring field topology manifold eigenvalue probability expected variance "
    "triangle circle angle sum product divisor factorial limit series sequence real complex set",
    "quantity": "each every twice half third quarter percent total remaining left more less than times per both "
    "altogether cost costs price hours minutes days weeks years old miles dollars cents",
    "negation": "not except least false incorrect never neither nor cannot without",
    "constraint": "must only exactly such every assume suppose given let if unless where subject satisfy satisfies "
    "while whenever",
    "why": "why how explain compare analyse analyze evaluate discuss justify reason critique argue",
    "what": "what who when where which whose whom capital",
    "law": "court law legal contract plaintiff defendant statute liability liable crime criminal constitution "
    "constitutional amendment property tort negligence jury judge trial evidence landlord tenant owner "
    "sued sue lawsuit attorney felony murder burglary clause convicted prosecution appeal federal state "
    "congress police",
    "medicine": "patient patients disease symptoms treatment diagnosis clinical cell cells blood drug infection virus "
    "bacteria pain cancer physician therapy syndrome chronic acute muscle nerve dose artery hormone gene "
    "genes dna rna protein enzyme brain heart kidney liver surgery hospital",
    "physics": "energy force mass velocity speed acceleration field electric magnetic charge current voltage circuit "
    "wave frequency wavelength light particle momentum temperature pressure heat gas motion friction "
    "gravity photon electron resistance capacitor power",
    "chemistry": "acid base reaction molecule molecules atom atoms ion ions solution compound bond bonds oxidation "
    "equilibrium mole moles carbon hydrogen oxygen nitrogen sodium element elements ph concentration "
    "enthalpy catalyst polymer",
    "economics": "market price demand supply tax income inflation interest monetary fiscal economy economic firm firms "
    "cost revenue profit consumer investment bank capital trade gdp wage unemployment currency elasticity "
    "marketing customers company companies business management employees organization",
    "history": "war century empire king revolution treaty colonial nation president political government party "
    "election policy soviet military ancient medieval church religion religious society social culture "
    "human rights slavery",
    "ethics": "moral morally wrong right ethics ethical duty virtue utilitarianism kant argument philosopher belief "
    "fallacy reason standards main character",
    "psychology": "psychology psychologist behavior behaviour child children learning memory personality anxiety "
    "depression cognitive emotional attitude stress development adolescent family gender sexual",
    "computing": "computer algorithm network memory data program binary server packet encryption operating system "
    "processor software bit bits byte bytes file database learning neural classifier training",
    "calculation": "find solve calculate compute equation probability number numbers graph vector linear solution value "
    "square root degree ratio average median mean standard deviation variance sample hypothesis "
    "regression confidence interval distribution random significance permutation",
    "nature": "earth moon sun planet planets star stars orbit galaxy solar universe mars ocean climate species "
    "evolution population ecosystem plants animals organisms",
    "people": "he she his her him they them their i my me we our you your mr mrs john mary",
    "duration": "second seconds minute minutes hour hours day days week weeks month months year years morning "
    "afternoon evening today tomorrow yesterday monday tuesday friday saturday sunday",
    "money": "dollar dollars cent cents price prices cost costs pay pays paid buy buys bought sell sells sold "
    "spend spent spends earn earns earned save savings per salary",
    "number": "one two three four five six seven eight nine ten eleven twelve dozen hundred thousand million half "
    "third quarter twice double triple times",
    "comparison": "more less fewer greater larger smaller longer shorter older younger than most least best same equal "
    "equals as many much remaining left rest another other",
    "steps": "first second then next after before finally each every if when total altogether combined how many",
    "function_word": "the a an of to in and is that for on with as by it at from this be are was or which",
    "choice": "which following statement statements best describes true correct example likely except according "
    "refers passage above below none all both",
    "prose": "article story write summary paragraph sentence translate poem essay email letter document context "
    "passage title",
    "trivia": "who when where what which name born city country film movie song album actor team river author book "
    "played wrote first year",
}
GROUPS: dict[str, frozenset[str]] = {name: frozenset(words.split()) for name, words in _WORDS.items()}
