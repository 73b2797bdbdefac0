import type { Manifests } from '../../../api/objects/load-manifests.ts';
import type { StaticPodNode } from '../../../api/objects/static-pod.ts';
import type { Clock } from '../../../clock.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { asOriginFailure, type OriginFailureKind } from './origin-failure.ts';
import { type Fetched, selectorDigest, sha256 } from '../last-good/last-good-format.ts';
import type { LastGoodManifests } from '../last-good/last-good-manifests.ts';
import { isGood, loadManifest } from '../load-manifest.ts';
import { loadJoinedFiles } from './joined-files.ts';
import {
  type FetchReport,
  type KnownBody,
  type ManifestOrigin,
  maxCheapBytes,
  type Validators,
} from './manifest-origin.ts';
import type { SourceUpdate } from '../pod-source.ts';

export interface RemoteManifestOptions extends StaticPodNode {
  origin: ManifestOrigin;
  /** Absent if no manifest is saved for the next start. */
  lastGood?: LastGoodManifests;
  clock: Clock;
}

/** The objects that an origin declares. */
export interface Declared {
  update: SourceUpdate;
  /** Time of the last answer that confirmed them; milliseconds since the epoch. */
  confirmedAt: number;
}

/** Result of a check. */
export interface Check {
  /** Undefined if the check succeeded. */
  failure?: OriginFailureKind;
  /** How long the server asks us to wait. */
  retryAfterMs?: number | undefined;
  /** Problems of the answer. */
  problems: readonly ManifestProblem[];
  /** Other problems. */
  warnings: readonly ManifestProblem[];
}

/** The newest trusted body. */
interface Seen extends KnownBody {
  /** The selector of the request that it answered. */
  selector: string | undefined;
  /** Empty if the body is good. */
  problems: ManifestProblem[];
}

/**
 * The manifest of an origin and its state. kubelet: config/http.go extractFromURL
 *
 * INVARIANTS: only a complete, trusted body without errors changes the declared objects, and it replaces all of them.
 * It is saved with its signature, so that the next start can verify it again. A body whose signature has a time is
 * flushed to disk before it is used, or a warning says that this failed. An unchanged body is verified and decoded
 * once. The query and the credentials are never shown.
 */
export class RemoteManifest {
  /** The origin, in the form that is shown. */
  readonly where: string;
  /** Undefined before the first good manifest. */
  declared: Declared | undefined;
  private seen: Seen | undefined;
  /** When the newest used body was signed, across runs; seconds since the epoch. */
  private lastSignedAtSeconds: number | undefined;
  /** Why the manifest of the last run is not used. */
  private unusable: ManifestProblem[] = [];
  /** A warning, if the time of the last signature could not be saved. */
  private unsaved: ManifestProblem[] = [];

  constructor(private readonly options: RemoteManifestOptions) {
    this.where = options.origin.where;
  }

  /** Restores the saved manifest of the last run if it is still trusted. */
  async restore(): Promise<void> {
    const kept = await this.options.lastGood?.load('http', this.where);
    if (kept === undefined) return;
    const { signature, selector, signedAt, ...validators } = kept.fetched ?? {};
    const digest = sha256(kept.body);
    const lastSignedAtSeconds = signedAt === undefined ? undefined : Number(signedAt);
    this.lastSignedAtSeconds = lastSignedAtSeconds;
    try {
      const evidence = { digest, validators, signature, lastSignedAtSeconds };
      this.lastSignedAtSeconds = (await this.options.origin.trust?.(kept.body, evidence)) ?? lastSignedAtSeconds;
    } catch (error) {
      const { message, hint } = asOriginFailure(error);
      this.unusable = [this.problem('warning', `the manifest of the last run is not used: ${message}`, hint)];
      return;
    }
    if (kept.tornDown === true) return;
    // A newer release may find new errors in it.
    const loaded = this.load(kept.body);
    this.unusable = isGood(loaded) ? [] : loaded.problems;
    if (isGood(loaded)) this.declare(loaded, { digest, validators, selector }, kept.savedAt);
  }

  /** Fetches the manifest. Rejects only if the signal is aborted. */
  async check(signal: AbortSignal): Promise<Check> {
    const report: FetchReport = { warnings: [], bodyBytes: 0 };
    const { warnings } = report;
    const noManifest = (): OriginFailureKind => (report.bodyBytes > maxCheapBytes ? 'is a flood' : 'is no manifest');
    if (this.unsaved.length > 0) await this.makeDurable();
    try {
      await this.fetch(report, signal);
      warnings.push(...this.unsaved);
    } catch (error) {
      signal.throwIfAborted();
      warnings.push(...this.unsaved);
      const { kind, message, hint, retryAfterMs } = asOriginFailure(error);
      const problems = [this.problem('error', message, hint), ...this.unusable];
      return { failure: kind === 'is no manifest' ? noManifest() : kind, problems, warnings, retryAfterMs };
    }
    const bad = this.seen?.problems ?? [];
    if (bad.length > 0) return { failure: noManifest(), problems: [...bad, ...this.unusable], warnings };
    this.unusable = [];
    if (this.declared !== undefined) this.declared.confirmedAt = this.options.clock.now();
    return { problems: [], warnings };
  }

  problem(severity: ManifestProblem['severity'], message: string, hint: string): ManifestProblem {
    return { origin: this.where, severity, message, hint };
  }

  private async fetch(report: FetchReport, signal: AbortSignal): Promise<void> {
    const { clock, origin } = this.options;
    const asked = origin.selector?.();
    const { seen } = this;
    // The tags from a different request could be mistaken for tags of this one.
    const known = seen !== undefined && seen.selector === selectorDigest(asked, seen.digest) ? seen : undefined;
    const { validators, content } = await origin.fetch(known, report, signal);
    if (content === undefined) {
      this.confirm(validators);
      return;
    }
    const { body, signature } = content;
    const digest = sha256(body);
    const { lastSignedAtSeconds } = this;
    const signedAtSeconds = await origin.trust?.(body, { digest, validators, signature, lastSignedAtSeconds });
    const seenNow = { digest, validators, selector: selectorDigest(asked, digest) };
    const loaded = this.load(body);
    if (!isGood(loaded)) {
      this.seen = { ...seenNow, problems: loaded.problems };
      return;
    }
    this.lastSignedAtSeconds = signedAtSeconds ?? lastSignedAtSeconds;
    const signedAt = this.lastSignedAtSeconds === undefined ? undefined : String(this.lastSignedAtSeconds);
    await this.save(body, { ...validators, signature, signedAt, selector: seenNow.selector });
    this.declare(loaded, seenNow, clock.now());
  }

  /** Waits for the disk only if the time of a signature must not be lost. */
  private async save(body: Uint8Array, fetched: Fetched): Promise<void> {
    const { lastGood } = this.options;
    this.unsaved = [];
    void lastGood?.save('http', this.where, body, { fetched });
    if (this.lastSignedAtSeconds !== undefined) await this.makeDurable();
  }

  /** Flushes the time of the signature. If it were lost, the next start would accept an older body. */
  private async makeDurable(): Promise<void> {
    const { lastGood } = this.options;
    this.unsaved = [];
    if (lastGood === undefined || (await lastGood.isDurable('http', this.where))) return;
    const message = 'the manifest is not saved, so after a restart one that was signed earlier may be accepted';
    const hint = 'Free space in the root-dir, or make it writable. Each request tries to save again.';
    this.unsaved = [this.problem('warning', message, hint)];
  }

  /** Updates the tags of a known body, which may have a new version. */
  private confirm(validators: Validators): void {
    const { declared, seen } = this;
    if (seen === undefined) return;
    seen.validators = validators;
    const { version } = validators;
    if (declared === undefined || seen.problems.length > 0 || version === declared.update.version) return;
    if (version !== undefined) declared.update = { ...declared.update, version };
  }

  private load(body: Uint8Array): Manifests {
    const load = this.options.origin.hasFiles === true ? loadJoinedFiles : loadManifest;
    return load(body, this.where, this.options, 'http');
  }

  /** Uses a trusted, good body. */
  private declare(loaded: Manifests, seen: Omit<Seen, 'problems'>, confirmedAt: number): void {
    const { where } = this;
    const { version } = seen.validators;
    const update = { source: 'http' as const, where, ...(version !== undefined && { version }), ...loaded };
    this.declared = { update, confirmedAt };
    this.seen = { ...seen, problems: [] };
  }
}
