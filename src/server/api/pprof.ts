import type { ServerResponse } from 'node:http';
import { parseInt64 } from '../../api/values/go-numbers.ts';
import { send } from './answers.ts';
import type { Call, Mount } from './route-table.ts';

/** Profiles of Go programs. Those that Node does not have are empty. kubelet: Go's runtime/pprof */
const names = ['allocs', 'block', 'goroutine', 'heap', 'mutex', 'threadcreate'];

/** Profiles must be shorter than the time in which the kubelet must have sent its answer. kubelet: server/server.go */
const writeTimeoutSeconds = 4 * 3600;
const defaultSeconds = { profile: 30, trace: 1, heap: 1 };

/** `/debug/pprof/`: profiles of this process. kubelet: server/server.go InstallProfilingHandler, Go's net/http/pprof */
export function pprofMount(): Mount {
  /** V8 takes only one profile at a time. */
  const state = { isBusy: false };
  return {
    path: '/debug/pprof/',
    subresources: ['proxy'],
    routes: [{ methods: ['GET'], pattern: '{subpath:*}', handle: (call) => answer(state, call) }],
  };
}

async function answer(state: { isBusy: boolean }, { response, query, rest }: Call): Promise<void> {
  const name = rest.join('/');
  if (name === 'cmdline') {
    // Without the args, which may contain credentials.
    sendText(response, process.argv.slice(0, 3).join('\0'));
  } else if (name === 'symbol') sendText(response, 'num_symbols: 0\n');
  else if (name === 'profile' || name === 'trace') {
    const seconds = cpuSeconds(name, query.get('seconds') ?? '');
    if (seconds >= writeTimeoutSeconds) refuse(response, 400, "profile duration exceeds server's WriteTimeout");
    else await sendProfile(state, name, seconds, response);
  } else if (names.includes(name)) await answerNamed(state, name, { response, query });
  else refuse(response, 404, 'Unknown profile');
}

/**
 * Seconds of a profile or a trace. Anything but a positive number means the default. A profile accepts only whole
 * seconds. kubelet: Go's net/http/pprof Profile, Trace
 */
export function cpuSeconds(name: 'profile' | 'trace', text: string): number {
  return (name === 'profile' ? positiveInteger(text) : positive(text)) ?? defaultSeconds[name];
}

async function answerNamed(
  state: { isBusy: boolean },
  name: string,
  { response, query }: Pick<Call, 'response' | 'query'>,
): Promise<void> {
  const isText = integer(query.get('debug')) !== 0;
  const text = query.get('seconds') ?? '';
  const seconds = positiveInteger(text);
  if (text !== '' && seconds === undefined) {
    refuse(response, 400, 'invalid value for "seconds" - must be a positive integer');
  } else if (seconds !== undefined && seconds >= writeTimeoutSeconds) {
    refuse(response, 400, "profile duration exceeds server's WriteTimeout");
  } else if (seconds !== undefined && isText) refuse(response, 400, 'seconds and debug params are incompatible');
  else if (isText) sendText(response, `${name}: ${resourcesText(name)}\n`);
  else await sendProfile(state, name, seconds ?? defaultSeconds.heap, response);
}

/** The resources that keep the event loop running, in place of goroutines. */
function resourcesText(name: string): string {
  if (name !== 'goroutine') return 'a text of this profile does not exist here';
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return `total ${[...counts.values()].reduce((sum, count) => sum + count, 0)}\n${[...counts].map(([kind, count]) => `${count} ${kind}`).join('\n')}`;
}

async function sendProfile(
  state: { isBusy: boolean },
  name: string,
  seconds: number,
  response: ServerResponse,
): Promise<void> {
  if (state.isBusy) {
    refuse(response, 500, 'Could not enable profiling: another profile is running');
    return;
  }
  state.isBusy = true;
  const closed = new AbortController();
  response.once('close', () => {
    closed.abort();
  });
  response.setTimeout(0);
  try {
    const { captureProfile: takeProfile } = await import('./capture-profile.ts');
    const bytes = await takeProfile(name, seconds * 1000, closed.signal);
    const headers = {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${name}"`,
      'x-content-type-options': 'nosniff',
    };
    send(response, 200, headers, bytes);
  } catch (error) {
    // Not a failure: the client did not wait.
    if (!closed.signal.aborted) throw error;
  } finally {
    state.isBusy = false;
  }
}

const plain = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };

function sendText(response: ServerResponse, text: string): void {
  send(response, 200, plain, text);
}

/** kubelet: Go's net/http/pprof serveError */
function refuse(response: ServerResponse, status: number, text: string): void {
  send(response, status, { ...plain, 'x-go-pprof': '1' }, `${text}\n`);
}

function positive(text: string): number | undefined {
  const value = /^\+?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : 0;
  return value > 0 && value < Infinity ? value : undefined;
}

function positiveInteger(text: string): number | undefined {
  const value = parseInt64(text);
  return typeof value === 'bigint' && value > 0n ? Number(value) : undefined;
}

const integer = (text: string | null): number => (text !== null && /^[-+]?\d+$/.test(text) ? Number(text) : 0);
