"""python -m cutegen_oracle [--device auto|cpu|cuda] [--memory-limit BYTES]: serves the channel in $CUTEGEN_CHANNEL_FD."""

import argparse

from .channel import Channel


def main():
    parser = argparse.ArgumentParser(prog="cutegen_oracle")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--memory-limit", type=int, default=0, help="bytes of CPU memory that it may take (0: most of what is free)")
    options = parser.parse_args()
    channel = Channel.from_environment()
    from .server import Server, serve  # torch is imported only once the channel is safe

    serve(channel, Server(options.device, options.memory_limit))


if __name__ == "__main__":
    main()
