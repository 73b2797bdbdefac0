import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import type { Clock } from '../../../clock.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { HTTPFailure, type HTTPFailureKind, toHTTPFailure } from './http-failure.ts';
import { maxCheapBytes } from './large-bodies.ts';
import { sha256 } from '../last-good/last-good-format.ts';
import type { LastGoodManifests } from '../last-good/last-good-manifests.ts';
import { isGood, loadManifest } from '../load-manifest.ts';
import { type Answer, type ManifestServer, type Validators, type Visit, visitServer } from './manifest-server.ts';
import type { SourceUpdate } from '../pod-source.ts';
import { shownURL } from './url.ts';
import { type ManifestTrust, trustManifest } from './trust-manifest.ts';

export interface RemoteManifestOptions extends StaticPodNode, Omit<ManifestServer, 'url'> {
  /** May contain user and password. Only the server gets them. */
  url: string;
  trust: ManifestTrust;
  /** Absent if no manifest is kept for the next start. */
  lastGood?: LastGoodManifests;
  clock: Clock;
}

/** The objects that a URL declares. */
export interface Declared {
  update: SourceUpdate;
  /** Time of the last answer that confirmed them; milliseconds since the epoch. */
  confirmedAt: number;
}

/** Result of a request to the server. */
export interface Check {
  /** Undefined if the check succeeded. */
  failure?: HTTPFailureKind;
  /** Wait that the server demands. */
  retryAfterMs?: number | undefined;
  /** Problems of the answer. */
  problems: readonly ManifestProblem[];
  /** Other problems. */
  warnings: readonly ManifestProblem[];
}

/** The newest trusted body. */
interface Seen {
  digest: string;
  validators: Validators;
  /** Empty if the body is good. */
  problems: ManifestProblem[];
}

/**
 * The manifest of a URL and its state. kubelet: config/http.go extractFromURL
 *
 * INVARIANTS: only a complete, trusted body without errors changes the declared objects, and it replaces all of them.
 * It is saved with its signature, so that the next start can verify it again. An unchanged body is verified and decoded
 * once. The query and the credentials are never shown.
 */
export class RemoteManifest {
  /** The URL as it is shown. */
  readonly where: string;
  /** Undefined before the first good manifest. */
  declared: Declared | undefined;
  private readonly options: RemoteManifestOptions;
  private readonly url: URL;
  private seen: Seen | undefined;
  /** Time of the signature of the newest used body, in earlier runs too; seconds since the epoch. */
  private lastSignedAtSeconds: number | undefined;
  /** Why the manifest of the last run is not used. */
  private unusable: ManifestProblem[] = [];

  constructor(options: RemoteManifestOptions) {
    this.options = options;
    this.url = new URL(options.url);
    this.where = shownURL(this.url);
  }

  /** Restores the saved manifest of the last run if it is still trusted. */
  async restore(): Promise<void> {
    const kept = await this.options.lastGood?.load('http', this.where);
    if (kept === undefined) return;
    const { signature, ...validators } = kept.fetched ?? {};
    const digest = sha256(kept.body);
    const { lastSignedAtSeconds } = this;
    try {
      const evidence = { digest, signature, lastSignedAtSeconds };
      this.lastSignedAtSeconds = trustManifest(kept.body, evidence, this.options.trust);
    } catch (error) {
      const { message, hint } = toHTTPFailure(error);
      this.unusable = [this.problem('warning', `the manifest of the last run is not used: ${message}`, hint)];
      return;
    }
    if (kept.tornDown === true) return;
    // Another release may find new errors in it.
    this.unusable = this.take(kept.body, { digest, validators, confirmedAt: kept.savedAt });
    if (this.unusable.length > 0) this.seen = undefined;
  }

  /** Requests the manifest. Rejects only if the signal is aborted. */
  async check(signal: AbortSignal): Promise<Check> {
    let warnings: readonly ManifestProblem[] = [];
    let noManifest: HTTPFailureKind = 'is no manifest';
    try {
      await visitServer({ ...this.options, url: this.url }, signal, async (visit) => {
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
    if (this.declared !== undefined) this.declared.confirmedAt = this.options.clock.now();
    return { problems: [], warnings };
  }

  problem(severity: ManifestProblem['severity'], message: string, hint: string): ManifestProblem {
    return { origin: this.where, severity, message, hint };
  }

  private async read({ body, validators }: Exclude<Answer, string>, visit: Visit): Promise<void> {
    const digest = sha256(body);
    if (digest === this.seen?.digest) {
      this.seen.validators = validators;
      return;
    }
    refuseNoManifest(body);
    const { clock, lastGood, trust } = this.options;
    const signature = trust.publicKeys.length === 0 ? undefined : await this.fetchSignature(visit);
    const { lastSignedAtSeconds } = this;
    const signedAtSeconds = trustManifest(body, { digest, signature, lastSignedAtSeconds }, trust);
    const problems = this.take(body, { digest, validators, confirmedAt: clock.now() });
    if (problems.length > 0) return;
    this.lastSignedAtSeconds = signedAtSeconds;
    // Does not wait for the disk.
    void lastGood?.save('http', this.where, body, { fetched: { ...validators, signature } });
  }

  /** Uses a trusted body unless it is bad. Returns the problems of a bad one. */
  private take(
    body: Uint8Array,
    { digest, validators, confirmedAt }: Omit<Seen, 'problems'> & Pick<Declared, 'confirmedAt'>,
  ): ManifestProblem[] {
    const { where } = this;
    const loaded = loadManifest(body, where, this.options, 'http');
    const problems = isGood(loaded) ? [] : loaded.problems;
    if (problems.length === 0) this.declared = { update: { source: 'http', where, ...loaded }, confirmedAt };
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
      throw new HTTPFailure(kind, `no signature: ${message}`, hint, { retryAfterMs, cause: error });
    }
  }
}

function refuseNoManifest(body: Buffer): void {
  if (body.length === 0) {
    const hint = 'To remove all pods, serve an empty list: {"apiVersion":"v1","kind":"List","items":[]}';
    throw new HTTPFailure('is no manifest', 'the server answered 200 with an empty body', hint);
  }
  if (!/^\s*</.test(body.toString('latin1', 0, 512))) return;
  const hint = 'Is it the log-in page of a network, or the error page of a proxy? Look at it with curl.';
  throw new HTTPFailure('is no manifest', 'the server answered with a web page', hint);
}
