import { connect } from 'node:net';

/** More than the table of 10,000 pods. */
const maxBytes = 4 * 1024 * 1024;

/**
 * The body of a plain answer to a GET on a connection of its own: status 200, with its length. Resolves to undefined
 * for any other answer, without an agent, and after the time-out, which begins when the socket is connected.
 * `control-call.ts` asks in these cases, and knows why. This reads less than `exchange.ts`, which saves `ps` 2 ms.
 */
export function plainAnswer(socketPath: string, path: string, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let head: Head | undefined;
    let bytes = 0;
    // One buffer for all parts spares Node's queue of them.
    const buffer = Buffer.allocUnsafe(64 * 1024);
    const onPart = (length: number): boolean => {
      bytes += length;
      parts.push(Buffer.from(buffer.subarray(0, length)));
      head ??= headOf(buffer.subarray(0, length));
      // The agent closes its side a little later.
      if (head === undefined || bytes > maxBytes || bytes >= head.bytes + head.bodyBytes) finish();
      return true;
    };
    const socket = connect({ path: socketPath, onread: { buffer, callback: onPart } });
    let limit: NodeJS.Timeout | undefined;
    const finish = (): void => {
      clearTimeout(limit);
      // It takes 1 ms: the process of `ps` ends before.
      setImmediate(() => socket.destroy());
      const isWhole = head !== undefined && bytes === head.bytes + head.bodyBytes;
      resolve(isWhole ? Buffer.concat(parts).toString('utf8', head?.bytes) : undefined);
    };
    // On a busy machine this process may be late, not the agent: an answer that has come is read before.
    socket.on('connect', () => (limit = setTimeout(() => setImmediate(finish), timeoutMs)));
    socket.on('error', finish).on('end', finish);
    socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
  });
}

interface Head {
  /** Length of the head. */
  bytes: number;
  bodyBytes: number;
}

/** Returns undefined if this does not begin with the whole head of a plain answer. */
function headOf(part: Buffer): Head | undefined {
  const bytes = part.indexOf('\r\n\r\n') + 4;
  const head = part.toString('latin1', 0, bytes);
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1];
  return length !== undefined && head.startsWith('HTTP/1.1 200 ') ? { bytes, bodyBytes: Number(length) } : undefined;
}
