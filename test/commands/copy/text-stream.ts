import { Writable } from 'node:stream';

/** A stream that keeps its text. With `columns` it is a terminal. */
export function textStream(columns?: number): Writable & { isTTY?: boolean; columns?: number; text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk);
      done();
    },
  });
  const terminal = columns === undefined ? {} : { isTTY: true, columns };
  return Object.assign(stream, terminal, { text: () => Buffer.concat(chunks).toString() });
}
