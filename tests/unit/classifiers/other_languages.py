"""Prompts in other languages, and English ones that quote them; written before there was a rule for either."""

OTHER = {
    "french": (
        "Comment puis-je résilier mon abonnement de téléphone avant la fin du contrat ?",
        "Explique-moi pourquoi le ciel est bleu.",
        "Donne-moi trois idées de cadeaux pour une amie qui aime jardiner",
        "Qui a peint la Joconde et où se trouve le tableau aujourd'hui ?",
        "Corrige les fautes dans ce texte et rends-le plus formel.",
        "quelle est la meilleure façon de nettoyer un tapis en laine",
    ),
    "spanish": (
        "¿Cómo puedo mejorar mi postura cuando trabajo en el ordenador?",
        "Dame una lista de libros para aprender programación desde cero",
        "Resume este artículo en cinco frases y explica la idea principal.",
        "qué tiempo hace normalmente en Sevilla en el mes de abril",
        "Necesito un plan de entrenamiento para correr una media maratón.",
        "Escríbeme un correo para pedir un aumento a mi jefe.",
    ),
    "italian": (
        "Qual è la differenza tra un mutuo a tasso fisso e uno variabile?",
        "Scrivimi una poesia sul mare per il compleanno di mia nonna.",
        "Come si coniuga il verbo andare al congiuntivo?",
        "Dammi dei consigli per organizzare un viaggio in Sicilia con i bambini",
        "perché il pane fatto in casa non lievita",
    ),
    "portuguese": (
        "Como faço para abrir uma empresa sendo estrangeiro em Portugal?",
        "Escreva uma mensagem de aniversário para a minha irmã mais nova.",
        "Quais são os principais rios da Europa e onde eles nascem?",
        "me explica o que é inflação com um exemplo do dia a dia",
        "Traduza este parágrafo para o inglês, por favor.",
    ),
    "romanian": (
        "Cum pot să învăț mai repede pentru un examen la matematică?",
        "Scrie o scurtă poveste despre un urs care pleacă din pădure.",
    ),
    "catalan": ("Quina és la millor manera de fer un pa amb tomàquet?",),
    "german": (
        "Wie kann ich meinen Vertrag mit dem Fitnessstudio kündigen?",
        "gib mir ein rezept fuer einen kuchen ohne eier",
    ),
    "dutch": ("Wat is het verschil tussen een koopwoning en een huurwoning voor de belasting?",),
    "swedish": ("Kan du skriva ett brev till min hyresvärd om att värmen inte fungerar?",),
    "danish": ("Hvordan laver man en god rugbrødsdej, og hvor længe skal den hæve?",),
}
"""By language."""

ENGLISH = (
    "What does 'c'est la vie' mean, and who says it?",
    "How do you pronounce 'croissant' and 'pain au chocolat'?",
    "Translate 'dónde está la biblioteca' into English.",
    "Who wrote Les Misérables, and what is it about?",
    "Is the song La donna è mobile from Rigoletto?",
    "I flew from São Paulo to Rio de Janeiro. How long does that take by bus?",
    "de facto and de jure: what is the difference?",
    "Ludwig van Beethoven or Vincent van Gogh, who was born first?",
    "Recommend a hotel near Place de la Concorde in Paris.",
    "Who painted Las Meninas and Los fusilamientos del tres de mayo?",
    "Explain the meaning of the Latin phrase cogito ergo sum.",
    "My colleague wrote 'Das ist mir egal' to me. Is that rude?",
    "El Paso to Los Angeles by train, any tips?",
    "best pizza quattro stagioni recipe",
    "Casa de Papel or Dark, which should I watch?",
    "The play En attendant Godot is by whom?",
    "el nino la nina difference",
    "Que sera sera lyrics",
)
"""Which are no such thing."""
