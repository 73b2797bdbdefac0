import { goQuote } from '../../api/values/go-quote.ts';
import { codes } from '../../cri/errors.ts';
import { RpcError } from '../../errors.ts';
import { send, sendPlain } from './answers.ts';
import { type ApiEngine, type ApiRuntime, declaredPod, runningContainerID } from './api-engine.ts';
import { maxSilenceMs } from './max-silence.ts';
import type { Call } from './route-table.ts';
import { rpcText } from '../../cri/rpc-text.ts';

/** Longest answer of a runtime. kubelet: cri-client remote_runtime.go maxMsgSize */
const maxMessageBytes = 16 * 1024 * 1024;

/**
 * Runs the command of the query to its end, and answers with its whole output. Does not read a form: a web page can
 * send one, and must not choose the command. kubelet: server/server.go getRun
 */
export async function runCommand(
  { engine, runtime }: { engine: ApiEngine; runtime: Pick<ApiRuntime, 'execSync'> },
  { query, response, params }: Call,
): Promise<void> {
  const { container = '' } = params;
  const pod = declaredPod(engine, params);
  const closed = new AbortController();
  response.once('close', () => {
    closed.abort(new Error('the client is gone'));
  });
  const containerId = runningContainerID(pod, container);
  if (containerId === undefined) {
    sendPlain(response, 500, `container not found (${goQuote(container)})`);
    return;
  }
  // The command has no time limit.
  response.setTimeout(0);
  const command = query.get('cmd') ?? '';
  try {
    const [headers, output] = await ranOutput(runtime, { containerId, command, signal: closed.signal });
    response.setTimeout(maxSilenceMs);
    send(response, 200, headers, output);
  } catch (error) {
    if (!closed.signal.aborted) sendPlain(response, 500, rpcText(error));
  }
}

interface Run {
  containerId: string;
  /** As in the request, where single spaces separate its words. */
  command: string;
  signal: AbortSignal;
}

/** Head and body of the answer. Rejects with the error that the kubelet has for a command that failed. */
async function ranOutput(
  runtime: Pick<ApiRuntime, 'execSync'>,
  { containerId, command, signal }: Run,
): Promise<[Record<string, string>, Buffer]> {
  const options = { signal, deadlineMs: Infinity, maxOutputBytes: maxMessageBytes };
  const {
    stdout,
    stderr,
    exitCode,
    leftOutBytes = 0,
  } = await runtime.execSync({ containerId, cmd: command.split(' ') }, options);
  const size = stdout.length + stderr.length + leftOutBytes;
  if (size > maxMessageBytes) {
    const text = `grpc: received message larger than max (${size} vs. ${maxMessageBytes})`;
    throw new RpcError('ExecSync', codes.resourceExhausted, text);
  }
  if (exitCode !== 0)
    throw new Error(`command '${command}' exited with ${exitCode}: ${Buffer.from(stderr).toString()}`);
  return [size === 0 ? {} : { 'content-type': 'application/json' }, Buffer.concat([stdout, stderr])];
}
