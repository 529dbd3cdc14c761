"""The truth side of cutegen: imports a user's PyTorch file and answers for it over a framed JSON channel.

Works with torch 1.13 (CPU) to 2.11 (CUDA); needs nothing beyond torch. See server.py for the protocol.
"""

PROTOCOL_VERSION = 1
