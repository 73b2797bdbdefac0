import type { FileHandle } from 'node:fs/promises';

const blockBytes = 64 * 1024;
const newline = 0x0a;

interface Tail {
  /** Of the first of the lines, in bytes. */
  offset: number;
  /** Number of wanted lines that the searched bytes do not have. */
  missingLines: number;
}

/**
 * Finds the last `lineCount` whole lines of a file. The offset is 0 if the file has fewer. Reads blocks from the end,
 * so the size of the file does not matter. Reads about `maxBytes` at most, and may then find fewer lines. An unfinished
 * line at the end does not count. kubelet: cri-client tail.go
 */
export async function findTailOffset(file: FileHandle, lineCount: number, maxBytes = Infinity): Promise<Tail> {
  const block = Buffer.allocUnsafe(blockBytes);
  let newlinesLeft = lineCount;
  const { size } = await file.stat();
  let firstWhole = size;
  for (let end = size; end > 0; end -= blockBytes) {
    if (size - end >= maxBytes) return { offset: firstWhole, missingLines: newlinesLeft };
    const start = Math.max(0, end - blockBytes);
    const { bytesRead } = await file.read(block, 0, end - start, start);
    // One newline more than there are wanted lines: the one before the first of them.
    for (let at = lastNewline(block, bytesRead); at >= 0; at = lastNewline(block, at)) {
      firstWhole = start + at + 1;
      if (newlinesLeft === 0) return { offset: firstWhole, missingLines: 0 };
      newlinesLeft -= 1;
    }
  }
  return { offset: 0, missingLines: newlinesLeft };
}

/** The last newline before `end`, or -1. */
function lastNewline(block: Buffer, end: number): number {
  return end === 0 ? -1 : block.lastIndexOf(newline, end - 1);
}
