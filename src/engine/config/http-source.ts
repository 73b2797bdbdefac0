import { unescape } from 'node:querystring';
import { loadPod } from '../../api/load-pod.ts';
import { maxManifestBytes } from '../../api/manifest-document.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import type { ManifestProblem } from '../events.ts';
import { podUIDHash } from './manifest-file.ts';
import type { PodSource, SourceUpdate } from './pod-source.ts';

/** kubelet: config/http.go NewSourceURL */
const requestTimeoutMs = 10_000;

interface Deps {
  url: string;
  /** Sent with every request; a name may be there more than once. */
  headers: readonly (readonly [name: string, value: string])[];
  nodeName: string;
  /** Milliseconds between requests. kubelet: httpCheckFrequency */
  httpCheckFrequencyMs: number;
  clock: Clock;
}

/**
 * Pods from a URL that answers with a manifest, asked again and again. Anything but a good new body leaves the pods as they
 * are. kubelet: config/http.go
 */
export class HTTPSource implements PodSource {
  readonly source = 'http';
  /** The URL without user and password, which nobody but the server gets to see. */
  readonly where: string;
  private readonly deps: Deps;
  private readonly headers: string[];
  private lastGood: { body: string; update: SourceUpdate } | undefined;

  constructor(deps: Deps) {
    this.deps = deps;
    const url = new URL(deps.url);
    const { username, password } = url;
    const credentials = [username, password].map((part) => unescape(part)).join(':');
    url.username = '';
    url.password = '';
    this.where = url.href;
    this.headers = deps.headers.flat();
    if (username !== '') this.headers.push('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  }

  async run({ onUpdate, onProblems }: Parameters<PodSource['run']>[0], signal: AbortSignal): Promise<void> {
    // Undefined after a failure: then the list is handed over again though it did not change, as all is well with it.
    let handedOver: SourceUpdate | undefined;
    for (;;) {
      try {
        const update = await this.read(signal);
        if (update !== handedOver) onUpdate(update);
        handedOver = update;
      } catch (error) {
        signal.throwIfAborted();
        onProblems(error instanceof BadBodyError ? [...error.problems] : [this.problem(errorMessage(error))]);
        handedOver = undefined;
      }
      await this.deps.clock.sleep(this.deps.httpCheckFrequencyMs, { signal });
    }
  }

  /** What the URL declares, the very same object while its body stays the same. Rejects when there is no good body. */
  private async read(signal: AbortSignal): Promise<SourceUpdate> {
    const body = await this.fetchBody(signal);
    if (body === this.lastGood?.body) return this.lastGood.update;
    const { where, deps } = this;
    const { pod, problems } = loadPod(body, {
      origin: where,
      nodeName: deps.nodeName,
      source: 'http',
      hash: podUIDHash,
    });
    if (pod === undefined) throw new BadBodyError(problems);
    const update: SourceUpdate = { source: 'http', where, pods: [pod], problems };
    this.lastGood = { body, update };
    return update;
  }

  private async fetchBody(signal: AbortSignal): Promise<string> {
    const timeout = new AbortController();
    const cancel = this.deps.clock.after(requestTimeoutMs, () => {
      timeout.abort(new Error(`no answer within ${requestTimeoutMs / 1000} s`));
    });
    try {
      return await this.request(AbortSignal.any([signal, timeout.signal]));
    } finally {
      cancel();
    }
  }

  private async request(signal: AbortSignal): Promise<string> {
    const { request } = await import('./http-request.ts');
    const { statusCode, body } = await request(this.where, { headers: this.headers, signal });
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxManifestBytes) throw new Error('the body is larger than 10 MiB');
      chunks.push(chunk);
    }
    if (statusCode !== 200) throw new Error(`the server answered ${statusCode}`);
    if (bytes === 0) throw new Error('the server answered 200 with an empty body');
    return Buffer.concat(chunks).toString('utf8');
  }

  private problem(message: string): ManifestProblem {
    return {
      origin: this.where,
      severity: 'error',
      message,
      hint: 'Pods that run already stay; the URL is asked again.',
    };
  }
}

class BadBodyError extends Error {
  override readonly name = 'BadBodyError';
  readonly problems: readonly ManifestProblem[];

  constructor(problems: readonly ManifestProblem[]) {
    super('the body declares no pod');
    this.problems = problems;
  }
}
