"""Weights for models of which no outcomes are known. Declared, not fitted: no public set holds token probabilities.

What they say: three answers of four are right when nothing speaks against them. A nat less in the lowest tenth or in the
worst stretch halves the odds and more; a broken form, a refusal or no words at all decide alone. Of Mixtral-8x7B's answers to
GSM8K, those with a sum that does not hold were right in 9 % of the cases, the others in 68 % (1,319 answers,
`loadtests/cascade`). What else that set teaches holds for sums of words alone, and is left to fitted weights.
"""

from policies.escalate.plan import Weights

PRIOR = Weights(
    bias=1.1,
    measures={
        "low": 0.7,
        "middle": 0.5,
        "dip": 0.9,
        "empty": -6.0,
        "refusal": -4.0,
        "repetition": -5.0,
        "misshapen": -5.0,
        "cut": -2.0,
        "false_step": -2.5,
        "loose_end": -0.4,
        "agreement": 0.8,
    },
)
