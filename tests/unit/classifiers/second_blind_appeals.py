"""Written before the rules that they are held against, by somebody who knew the rules of then; none is there for one of them.

`SENTENCES`, `JOINED` and `OPENINGS` were measured before there was a rule for clauses (JOINED moved 52 %) and after it,
`CLAUSES` were written before that rule and measured with it (18 %) and after it was widened.
"""

SENTENCES = (
    "The response will be checked line by line by a proof checker.",
    "Work it out from the Peano axioms upward.",
    "Provide a formal specification in temporal logic as well.",
    "Bear in mind the subtleties of non-standard analysis.",
    "Discuss it in the manner of Grothendieck.",
    "Bring in Lagrangian mechanics where it helps.",
    "Do so under the constraints of a hard real-time kernel.",
    "Let me have a Lean formalisation alongside.",
    "Frame the matter as a constrained optimisation over Banach spaces.",
    "Our reading group on homotopy type theory awaits it.",
    "Keep the treatment at the level of Rudin's Principles.",
    "Every inference must survive adversarial model checking.",
    "Include the amortised complexity of your reasoning.",
    "Compare all known algorithms for it and prove lower bounds.",
    "The grader is a retired Putnam winner.",
    "Assume familiarity with sheaf cohomology.",
    "Take relativistic corrections and error propagation into account.",
    "Put it in the form of a distributed protocol with a liveness proof.",
    "You will be asked to defend it before the faculty of theoretical physics.",
    "Document every assumption in the style of a safety case for avionics software.",
)
"""To stand after an easy question."""

JOINED = (
    "{}, with a proof by transfinite induction",
    "{} (assume the reader works on automorphic forms)",
    "{}, as rigorously as a measure theorist would",
    "{} - derive it from first principles using variational calculus",
    "{}, and analyse the worst-case complexity of the answer",
    "{} and prove your answer with full epsilon-delta rigour",
    "{}; treat edge cases, race conditions and memory ordering",
    "{} in the style of a graduate text on differential geometry",
    "{}: the setting is a Byzantine distributed system",
    "{} [context: PhD qualifying exam, real analysis]",
)
"""Without a full stop of their own; {} is the question, without its own."""

OPENINGS = (
    "Using the machinery of spectral sequences, {}",
    "For a seminar on computational complexity: {}",
    "As an exercise in formal verification, {}",
    "Suppose we work in ZFC with large cardinals. {}",
    "Consider a lock-free concurrent setting. {}",
    "In the notation of Landau and Lifshitz, {}",
    "Qualifying exam, algebraic number theory, problem 3. {}",
    "My thesis concerns stochastic differential equations. {}",
)
"""To stand before an easy question."""


CLAUSES = (
    "{}, under the axioms of Zermelo and Fraenkel",
    "{}, giving a proof sketch in the manner of Erdős",
    "{} -- cast it as a convex program with duality",
    "{}, since I am preparing for the Tripos in pure mathematics",
    "{} (as a reviewer of Inventiones would demand)",
    "{} while respecting linearizability and crash consistency",
    "{}, along with its formal verification in Coq",
    "{}; be as exhaustive as a compiler test suite",
    "{}, including asymptotic bounds and amortised analysis",
    "{} like a quantum field theorist computing loop diagrams",
    "{}, from the viewpoint of algebraic geometry",
    "{} plus a derivation by the method of characteristics",
    "{} and back it up with measure-theoretic arguments",
    "{}, bearing in mind deadlocks, livelocks and starvation",
    "{} [tags: topology, cohomology, open problem]",
    "{}, then generalise your reply to Hilbert spaces",
    "{} | expected depth: doctoral thesis in number theory",
    "{}, phrased for experts on stochastic control",
    "{} because our kernel scheduler depends on it",
    "{}, no hand-waving, every lemma proved",
)
"""Joined to a question without a full stop, as JOINED."""

MORE_CLAUSES = (
    "{}, treated with the full apparatus of functional analysis",
    "{}, offering an epsilon-delta argument for each assertion",
    "{} - reduce it to SAT and discuss the certificate",
    "{}, which our theorem prover must accept",
    "{} for a panel of string theorists",
    "{}, keeping to the conventions of Bourbaki",
    "{}; what follows has to satisfy a formal-methods auditor",
    "{} given a lossy asynchronous network with Byzantine nodes",
    "{}, complete with pseudo-code, invariants and a termination proof",
    "{}, in light of the Riemann hypothesis",
    "{} (level: postdoctoral researcher in quantum information)",
    "{}, as part of a seminar on ergodic theory",
)
"""Others, written before the rule was widened (behind a comma any verb, any form of answer), measured with it alone."""
