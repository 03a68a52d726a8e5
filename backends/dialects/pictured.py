"""Images in results of tools, where Chat Completions has them: its turns of role `tool` hold words alone, so words stand where
the images did, and the images are the user's, in order, after all results of that turn."""


def image_called(number: int) -> str:
    """`number` counts those of one turn from 1 on.

    >>> image_called(1)
    '[image 1]'
    """
    return f"[image {number}]"
