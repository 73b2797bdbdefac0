import { type Session, startStreamingServer, type StreamingServer } from '../../cri/streaming/streaming-server.ts';
import type { Frame } from './recorded-runtime.ts';

interface RecordedStream {
  /** Its query says which streams the client opens. */
  url: string;
  /** Messages of the client, in hexadecimal. */
  sent: readonly string[];
  frames: readonly Frame[];
  bytesByChannel: Readonly<Record<string, number>>;
}

interface Status {
  status?: string;
  message?: string;
  reason?: string;
  details?: { causes?: { message?: string }[] };
}

const outputs: Readonly<Record<string, 'stdout' | 'stderr'>> = { 1: 'stdout', 2: 'stderr' };
const own = 'Internal error occurred: ';

/** A runtime that speaks only SPDY, and answers as one did of which the kubelet made the recorded messages. */
export async function openSpdyRuntime(recorded: RecordedStream): Promise<StreamingServer> {
  const awaited = inputOf(recorded);
  return startStreamingServer({ spdy: true }, (session) => {
    let got = '';
    session.received = (stream, bytes) => {
      if (stream !== 'stdin') return;
      got += bytes === 'end' ? 'end' : bytes.toString('hex');
      if (got === awaited) answer(session, recorded);
    };
    if (awaited === '') answer(session, recorded);
  });
}

/** What reaches a command of what the client sends, with its end. */
function inputOf({ url, sent }: RecordedStream): string {
  if (new URL(url, 'https://node').searchParams.get('input') !== '1') return '';
  return sent
    .map((message) => (message === 'ff00' ? 'end' : message.startsWith('00') ? message.slice(2) : ''))
    .join('');
}

function answer(session: Session, { frames, bytesByChannel }: RecordedStream): void {
  // The first message is the kubelet's.
  for (const { channel, text } of frames.slice(1)) {
    const output = outputs[channel];
    if (output !== undefined) session.send(output, text);
    else report(session, JSON.parse(text) as Status);
  }
  for (const [channel, count] of Object.entries(bytesByChannel)) {
    const output = outputs[channel];
    if (output !== undefined) session.send(output, Buffer.alloc(count));
    else session.exit(0);
  }
}

/** The status of the runtime, which the kubelet writes anew. */
function report(session: Session, { status, message = '', reason, details }: Status): void {
  if (status === 'Success') session.exit(0);
  else if (reason === 'NonZeroExitCode') session.exit(Number(details?.causes?.[0]?.message));
  else {
    const text = message.startsWith(own) ? message.slice(own.length) : message;
    session.send('error', JSON.stringify({ status, message: text, reason }));
    session.end('error');
  }
}
