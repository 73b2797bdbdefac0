import { randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { type ByteRange, rangeLength } from './byte-range.ts';

interface Content {
  size: number;
  /** Its content type. */
  type: string;
}

/** A text, or bytes of the file. */
type Piece = string | ByteRange;

/** A body with its headers. */
interface Body {
  headers: Readonly<Record<string, string>>;
  pieces: readonly Piece[];
}

const blockBytes = 64 * 1024;

/** The whole file, or one range of it. */
export function inOnePiece({ size, type }: Content, range: ByteRange | undefined): Body {
  return {
    headers: { 'content-type': type, ...(range && { 'content-range': contentRange(range, size) }) },
    pieces: [range ?? { first: 0, last: size - 1 }],
  };
}

/** Several ranges of a file as one body. kubelet: Go's mime/multipart Writer */
export function inParts({ size, type }: Content, ranges: readonly ByteRange[]): Body {
  const boundary = randomBytes(30).toString('hex');
  const parts = ranges.flatMap((range, index): Piece[] => {
    const head = `Content-Range: ${contentRange(range, size)}\r\nContent-Type: ${type}\r\n\r\n`;
    return [`${index === 0 ? '' : '\r\n'}--${boundary}\r\n${head}`, range];
  });
  return {
    headers: { 'content-type': `multipart/byteranges; boundary=${boundary}` },
    pieces: [...parts, `\r\n--${boundary}--\r\n`],
  };
}

const contentRange = ({ first, last }: ByteRange, size: number): string => `bytes ${first}-${last}/${size}`;

/** In bytes. Texts are ASCII. */
export const pieceLength = (piece: Piece): number => (typeof piece === 'string' ? piece.length : rangeLength(piece));

/** Fails if the file has become shorter, so that the client does not wait for the rest. */
export async function* piecesOf(file: FileHandle, pieces: readonly Piece[]): AsyncGenerator<Buffer | string, void> {
  for (const piece of pieces) {
    if (typeof piece === 'string') yield piece;
    else yield* bytesBetween(file, piece);
  }
}

async function* bytesBetween(file: FileHandle, { first, last }: ByteRange): AsyncGenerator<Buffer, void> {
  for (let at = first; at <= last;) {
    const length = Math.min(last - at + 1, blockBytes);
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, at);
    if (bytesRead === 0) throw new Error('the file has become shorter');
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}
