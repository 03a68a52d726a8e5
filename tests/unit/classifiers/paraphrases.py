"""Pairs that ask the same in other words; half of them are easy."""

PARAPHRASES: tuple[tuple[str, str], ...] = (
    ("What is the capital of Portugal?", "Which city is the capital of Portugal?"),
    ("How long does it take to hard-boil an egg?", "For how many minutes must an egg boil to be hard?"),
    ("Give me a synonym for quiet.", "What is another word for quiet?"),
    ("Translate 'where is the station' into German.", "How do I say 'where is the station' in German?"),
    ("Who painted the Mona Lisa?", "By whom was the Mona Lisa painted?"),
    ("What is 48 divided by 6?", "Divide 48 by 6."),
    ("Write a two-line rhyme about snow.", "Compose a rhyme of two lines on snow."),
    ("Suggest a name for a grey kitten.", "What could I call a grey kitten?"),
    ("How many minutes are in a week?", "What is the number of minutes in a week?"),
    ("What does the word 'frugal' mean?", "Explain the meaning of the word 'frugal'."),
    ("Correct the spelling of 'recieve'.", "How is 'recieve' spelled correctly?"),
    ("List five fruits that are yellow.", "Name five yellow fruits."),
    ("What time is it in Tokyo when it is noon in London?", "If it is noon in London, what is the time in Tokyo?"),
    ("Convert 5 kilometres to miles.", "How many miles are 5 kilometres?"),
    ("Write a thank-you note to a neighbour.", "Draft a short note that thanks a neighbour."),
    ("What colour do blue and yellow make?", "Which colour does one get by mixing blue and yellow?"),
    ("In which year did the Titanic sink?", "When did the Titanic go down?"),
    ("What should I wear to a job interview?", "Which clothes are right for a job interview?"),
    ("Tell me a fun fact about octopuses.", "Share something amusing about octopuses."),
    ("How do I remove a coffee stain from a shirt?", "What takes a coffee stain out of a shirt?"),
    ("Recommend a novel by Jane Austen.", "Which of Jane Austen's novels should I read?"),
    ("What is a leap year?", "Explain what a leap year is."),
    (
        "Make this sentence shorter: I am writing to let you know that I will be late.",
        "Shorten this sentence: I am writing to let you know that I will be late.",
    ),
    ("Which planet is closest to the sun?", "What is the planet nearest to the sun?"),
    ("Name three uses of vinegar.", "What are three things that vinegar is good for?"),
    ("Why is the sea salty?", "How come sea water has salt in it?"),
    ("What is the plural of 'mouse'?", "How does one write 'mouse' in the plural?"),
    ("Summarise the story of Cinderella in three sentences.", "In three sentences, what happens in Cinderella?"),
    ("What are good exercises for a stiff neck?", "Which exercises help against a stiff neck?"),
    ("Is a tomato a fruit or a vegetable?", "Does a tomato count as a fruit or as a vegetable?"),
    (
        "A baker sells 14 loaves a day at $3 each. How much does she earn in a week?",
        "If a baker sells 14 loaves each day for $3 apiece, what does she take in a week?",
    ),
    (
        "Lena reads 12 pages a night. How many nights does a book of 180 pages take her?",
        "How many nights does Lena need for a book of 180 pages if she reads 12 pages every night?",
    ),
    (
        "A tank holds 500 litres and leaks 4 litres an hour. How much is left after a day and a half?",
        "After a day and a half, how much water is left in a tank of 500 litres that loses 4 litres every hour?",
    ),
    ("Solve x^2 - 7x + 10 = 0.", "Find the roots of x^2 - 7x + 10 = 0."),
    ("What is the derivative of ln(x)/x?", "Differentiate ln(x)/x with respect to x."),
    ("What is the probability that two dice add up to nine?", "Two dice are thrown. How probable is a sum of nine?"),
    ("Explain how a hash map works.", "Describe the workings of a hash map."),
    ("What is the difference between a process and a thread?", "How does a process differ from a thread?"),
    (
        "Write a Python function that checks whether a word is a palindrome.",
        "In Python, write a function that tells whether a word is a palindrome.",
    ),
    (
        "Write a regular expression for dates like 2024-03-31.",
        "Give a regular expression that matches dates such as 2024-03-31.",
    ),
    ("Explain why the sky is red at sunset.", "Why does the sky turn red when the sun sets?"),
    ("Compare monarchies and republics.", "In what do monarchies and republics differ, and what have they in common?"),
    ("What caused the First World War?", "Which were the causes of the First World War?"),
    ("Describe how the heart pumps blood.", "How is blood pumped by the heart?"),
    ("Prove that the square root of 3 is irrational.", "Show that the square root of 3 is not a rational number."),
    (
        "Prove that a bounded monotone sequence of reals converges.",
        "Show that every monotone sequence of real numbers that is bounded has a limit.",
    ),
    (
        "Prove that every finite integral domain is a field.",
        "Show that an integral domain with finitely many elements must be a field.",
    ),
    ("Derive the formula for the sum of a geometric series.", "Show how one obtains the sum of a geometric series."),
    (
        "Show that a graph with all degrees at least two contains a cycle.",
        "Prove that there is a cycle in every graph whose vertices all have degree two or more.",
    ),
    (
        "Derive the Black-Scholes equation and state each assumption.",
        "State all assumptions of the Black-Scholes equation and derive it from them.",
    ),
    (
        "Implement a skip list in C++ with a proof of its expected search time.",
        "Write a skip list in C++ and prove what its search costs in expectation.",
    ),
    (
        "Design a message queue that survives the loss of two of five machines, and prove that no message is lost.",
        "Give the design of a message queue that loses no message when two of its five machines fail, with a proof.",
    ),
    (
        "Write a parser for arithmetic expressions in Haskell, with error messages that name line and column.",
        "In Haskell, implement a parser of arithmetic expressions whose errors tell line and column.",
    ),
    (
        "Implement a garbage collector for a small Lisp interpreter in C and explain its invariants.",
        "Write in C the garbage collector of a small Lisp interpreter, and say which invariants it keeps.",
    ),
    (
        "Prove that the problem of vertex cover is NP-complete.",
        "Give a proof that vertex cover is an NP-complete problem.",
    ),
    (
        "Derive the gradient of the softmax cross-entropy loss and write a numerically stable implementation in NumPy.",
        "Write a numerically stable softmax cross-entropy loss in NumPy and derive its gradient.",
    ),
    (
        "Analyse the amortised cost of union-find with path compression and union by rank.",
        "What does union-find with path compression and union by rank cost, amortised? Give the analysis.",
    ),
    (
        "Find all integer solutions of x^2 - 2y^2 = 1 and prove that there are no others.",
        "Determine every integer solution of x^2 - 2y^2 = 1, with a proof that the list is complete.",
    ),
    (
        "Design a sharded key-value store with linearizable reads and discuss how it behaves in a partition.",
        "How would you build a sharded key-value store whose reads are linearizable, and what does it do during a partition?",
    ),
    (
        "Prove the spectral theorem for real symmetric matrices.",
        "Show that every real symmetric matrix is diagonalised by an orthogonal one.",
    ),
)
