import { createHash } from 'node:crypto';
import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import type { Clock } from '../../../clock.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { HTTPFailure, type HTTPFailureKind, toHTTPFailure } from './http-failure.ts';
import type { LastGoodManifests } from '../last-good/last-good-manifests.ts';
import { isGood, loadManifest } from '../load-manifest.ts';
import {
  type Answer,
  ManifestServer,
  type ManifestServerOptions,
  type Validators,
  type Visit,
} from './manifest-server.ts';
import type { SourceUpdate } from '../pod-source.ts';
import { shownURL } from './url.ts';
import { type ManifestTrust, trustManifest } from './trust-manifest.ts';

export interface RemoteManifestOptions extends StaticPodNode, Omit<ManifestServerOptions, 'url'> {
  /** May carry user and password, which nobody but the server gets to see. */
  url: string;
  trust: ManifestTrust;
  /** Absent: nothing is kept for the next life. */
  lastGood?: LastGoodManifests;
  clock: Clock;
}

/** What a URL declares. */
export interface Declared {
  update: SourceUpdate;
  /** When the server said so last; milliseconds since the epoch. */
  confirmedAt: number;
}

/** What came of a look at the server. */
export interface Check {
  /** Undefined: it said what it is to say. */
  failure?: HTTPFailureKind;
  /** How long it asks us to stay away. */
  retryAfterMs?: number | undefined;
  /** What is wrong with its answer. */
  problems: readonly ManifestProblem[];
  /** What is wrong besides. */
  warnings: readonly ManifestProblem[];
}

/** A larger body that is no manifest is a flood. Most manifests have fewer bytes. */
const maxCheapBytes = 512 * 1024;

/** The newest body that was to be believed, and what came of it. */
interface Seen {
  digest: string;
  validators: Validators;
  /** Empty: it is good. */
  problems: ManifestProblem[];
}

/**
 * A manifest behind a URL, and what is known of it. kubelet: config/http.go extractFromURL
 *
 * INVARIANTS: only a new body that is whole, believed and free of errors changes what is declared, and it is taken as a
 * whole or not at all; it is kept on disk with what is needed to believe it again in the next life; a body that stays
 * the same is verified and decoded once; the query and the credentials show up nowhere.
 */
export class RemoteManifest {
  /** The URL as people see it. */
  readonly where: string;
  private readonly options: RemoteManifestOptions;
  private readonly url: URL;
  private readonly server: ManifestServer;
  private seen: Seen | undefined;
  private current: Declared | undefined;
  /** When the newest body that was taken was signed, in the last life too; seconds since the epoch. */
  private lastSignedAtSeconds: number | undefined;
  /** Why the manifest of the last life is not taken. */
  private unusable: ManifestProblem[] = [];

  constructor(options: RemoteManifestOptions) {
    this.options = options;
    this.url = new URL(options.url);
    this.where = shownURL(this.url);
    this.server = new ManifestServer({ ...options, url: this.url });
  }

  /** Undefined: nothing good was seen yet. */
  get declared(): Declared | undefined {
    return this.current;
  }

  /** Takes what the last life kept, if it is still to be believed. */
  async restore(): Promise<void> {
    const kept = await this.options.lastGood?.load('http', this.where);
    if (kept === undefined) return;
    const { signature, ...validators } = kept.fetched ?? {};
    const digest = digestOf(kept.body);
    try {
      this.lastSignedAtSeconds = this.trust(kept.body, digest, signature);
    } catch (error) {
      const { message, hint } = toHTTPFailure(error);
      this.unusable = [this.problem('warning', `the manifest of the last run is not taken: ${message}`, hint)];
      return;
    }
    if (kept.tornDown === true) return;
    // Another release may find errors where there were none.
    this.unusable = this.take(kept.body, { digest, validators, confirmedAt: kept.savedAt });
    if (this.unusable.length > 0) this.seen = undefined;
  }

  /** Asks the server. Rejects when the signal is aborted, and only then. */
  async check(signal: AbortSignal): Promise<Check> {
    let warnings: readonly ManifestProblem[] = [];
    let noManifest: HTTPFailureKind = 'is no manifest';
    try {
      await this.server.visit(signal, async (visit) => {
        warnings = visit.warnings;
        const answer = await visit.get(this.url, this.seen?.validators);
        if (answer === 'not modified') return;
        if (answer.body.length > maxCheapBytes) noManifest = 'is a flood';
        await this.read(answer, visit);
      });
    } catch (error) {
      signal.throwIfAborted();
      const { kind, message, hint, retryAfterMs } = toHTTPFailure(error);
      const problems = [this.problem('error', message, hint), ...this.unusable];
      return { failure: kind === 'is no manifest' ? noManifest : kind, problems, warnings, retryAfterMs };
    }
    const bad = this.seen?.problems ?? [];
    if (bad.length > 0) return { failure: noManifest, problems: [...bad, ...this.unusable], warnings };
    this.unusable = [];
    if (this.current !== undefined) this.current.confirmedAt = this.options.clock.now();
    return { problems: [], warnings };
  }

  problem(severity: ManifestProblem['severity'], message: string, hint: string): ManifestProblem {
    return { origin: this.where, severity, message, hint };
  }

  private async read({ body, validators }: Exclude<Answer, string>, visit: Visit): Promise<void> {
    const digest = digestOf(body);
    if (digest === this.seen?.digest) {
      this.seen.validators = validators;
      return;
    }
    refuseNoManifest(body);
    const { clock, lastGood, trust } = this.options;
    const signature = trust.publicKeys.length === 0 ? undefined : await this.fetchSignature(visit);
    const signedAtSeconds = this.trust(body, digest, signature);
    const problems = this.take(body, { digest, validators, confirmedAt: clock.now() });
    if (problems.length > 0) return;
    this.lastSignedAtSeconds = signedAtSeconds;
    const fetched = { ...validators, ...(signature !== undefined && { signature }) };
    // Nobody waits for the disk.
    void lastGood?.save('http', this.where, body, { fetched });
  }

  private trust(body: Uint8Array, digest: string, signature: string | undefined): number | undefined {
    const { lastSignedAtSeconds } = this;
    return trustManifest(body, { digest, signature, lastSignedAtSeconds }, this.options.trust);
  }

  /** Takes a body that is to be believed. Returns what is wrong with it, when it is bad. */
  private take(
    body: Uint8Array,
    { digest, validators, confirmedAt }: Omit<Seen, 'problems'> & Pick<Declared, 'confirmedAt'>,
  ): ManifestProblem[] {
    const { where } = this;
    const loaded = loadManifest(body, where, this.options, 'http');
    const isBad = !isGood(loaded);
    if (!isBad) this.current = { update: { source: 'http', where, ...loaded }, confirmedAt };
    const problems = isBad ? loaded.problems : [];
    this.seen = { digest, validators, problems };
    return problems;
  }

  private async fetchSignature(visit: Visit): Promise<string> {
    const url = new URL(this.url);
    url.pathname += '.minisig';
    try {
      const answer = await visit.get(url);
      return answer === 'not modified' ? '' : answer.body.toString('utf8');
    } catch (error) {
      const { kind, message, retryAfterMs } = toHTTPFailure(error);
      const hint = `It is read from ${shownURL(url)}.`;
      throw new HTTPFailure(kind, `no signature: ${message}`, { hint, retryAfterMs, cause: error });
    }
  }
}

function refuseNoManifest(body: Buffer): void {
  if (body.length === 0) {
    throw new HTTPFailure('is no manifest', 'the server answered 200 with an empty body', {
      hint: 'Pods are taken away by an empty list: {"apiVersion":"v1","kind":"List","items":[]}',
    });
  }
  if (!/^\s*</.test(body.toString('latin1', 0, 512))) return;
  throw new HTTPFailure('is no manifest', 'the server answered with a web page', {
    hint: 'Is it the log-in page of a network, or the error page of a proxy? Look at it with curl.',
  });
}

const digestOf = (body: Uint8Array): string => createHash('sha256').update(body).digest('hex');
