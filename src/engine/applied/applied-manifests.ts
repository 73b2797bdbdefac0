import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import { objectTexts, type ObjectText } from '../../api/objects/object-texts.ts';
import type { StaticPodNode } from '../../api/objects/static-pod.ts';
import { claimedKeys } from '../../api/values/name-owners.ts';
import { isConfigData } from '../../api/values/config-object.ts';
import { problemText } from '../../api/values/problem-text.ts';
import type { Clock } from '../../clock.ts';
import { RequestRefused } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { loadManifest } from '../config/load-manifest.ts';
import { AppliedFolder } from './applied-folder.ts';
import {
  appliedFileName,
  appliedName,
  type AppliedObject,
  type AppliedResult,
  type KeptObject,
  misspeltKind,
  objectOfText,
  pluralName,
  resourceName,
} from './applied-object.ts';

interface Deps extends StaticPodNode {
  rootDir: string;
  clock: Clock;
  logger: Pick<Logger, 'warn'>;
}

interface ChangeOptions {
  /** Returns the file or URL that declares an object now, found by its `claimedKeys`. Undefined if none does. */
  declarerOf: (key: string) => string | undefined;
  /** If true, nothing changes. */
  dryRun?: boolean | undefined;
  /** Aborted when nobody waits for the answer. A change that has not begun is dropped. */
  signal?: AbortSignal | undefined;
}

interface ApplyOptions extends ChangeOptions {
  /** The namespace of objects that do not set one. */
  namespace?: string | undefined;
}

/** Origin of a manifest in a request. */
const requestOrigin = '<request>';

/**
 * The manifests that operators applied, one object per file in `<root-dir>/applied/`. The file source reads them.
 * Methods reject with a `RequestRefused` if a request is refused, and with the file system's error.
 */
export class AppliedManifests {
  private readonly folder: AppliedFolder;

  constructor(private readonly deps: Deps) {
    this.folder = new AppliedFolder(deps);
  }

  /** Completes a change that a crash interrupted. */
  open(): Promise<void> {
    return this.folder.open();
  }

  /** Adds or replaces all objects of a manifest, or none of them. */
  async apply(bytes: Uint8Array, { namespace, declarerOf, dryRun, signal }: ApplyOptions): Promise<AppliedResult[]> {
    refuseBroken(bytes, this.deps);
    const objects = objectTexts(bytes, requestOrigin, namespace);
    for (const object of objects) this.refuseForeign(object, declarerOf);
    return this.folder.withLock(async () => {
      const results: AppliedResult[] = [];
      const change = new Map<string, string>();
      for (const object of sortedForPods(objects)) {
        const { kind, namespace: own, name, text } = object;
        const before = await this.folder.read(appliedFileName(object));
        if (before !== undefined) this.refuseImmutable(before, object);
        const result = before === undefined ? 'created' : before === text ? 'unchanged' : 'configured';
        results.push({ kind, namespace: own, name, result });
        if (result !== 'unchanged') change.set(appliedFileName(object), text);
      }
      if (dryRun !== true) await this.folder.change(change);
      return results;
    }, signal);
  }

  /** Deletes an applied object. A pod may also be given by its name on the node. */
  async delete(object: AppliedObject, { declarerOf, dryRun, signal }: ChangeOptions): Promise<AppliedResult> {
    return this.folder.withLock(async () => {
      for (const near of this.meanings(object)) {
        const name = appliedFileName(near);
        if ((await this.folder.read(name)) === undefined) continue;
        if (dryRun !== true) await this.folder.change(new Map([[name, null]]));
        return { ...near, result: 'deleted' };
      }
      throw this.notApplied(object, declarerOf);
    }, signal);
  }

  /** Lists all applied objects, in the order of their files. Omits damaged files, which the file source reports. */
  async list(): Promise<KeptObject[]> {
    const files = await this.folder.withLock(() => this.folder.readAll());
    return files.flatMap(({ path: file, text, modifiedAt }) => {
      const object = objectOfText(text);
      const sha256 = createHash('sha256').update(text).digest('hex');
      return object === undefined ? [] : [{ ...object, file, modifiedAt, sha256 }];
    });
  }

  private meanings(object: AppliedObject): AppliedObject[] {
    const suffix = `-${this.deps.nodeName.toLowerCase()}`;
    const isOnNode = object.kind === 'Pod' && object.name.endsWith(suffix);
    return [object, ...(isOnNode ? [{ ...object, name: object.name.slice(0, -suffix.length) }] : [])];
  }

  /** Returns the keys of the pod that a pod or workload of this name declares. */
  private podKeys(full: string): string[] {
    const suffix = `-${this.deps.nodeName.toLowerCase()}`;
    return [full, `${full}-0`].flatMap((name) => [`Pod/${name}`, `Pod/${name}${suffix}`]);
  }

  private notApplied(
    { kind, namespace, name }: AppliedObject,
    declarerOf: ChangeOptions['declarerOf'],
  ): RequestRefused {
    const full = namespace === '' ? name : `${namespace}/${name}`;
    const keys = [`${kind}/${full}`, ...(isConfigKind(kind) ? [] : this.podKeys(full))];
    const declarer = keys.map((key) => declarerOf(key)).find((where) => where !== undefined);
    const what = `${resourceName(kind)} "${name}"`;
    if (declarer === undefined) {
      const place = namespace === '' ? '' : ` in namespace ${namespace}`;
      const near = misspeltKind({ kind, namespace, name });
      const question = near === undefined ? '' : ` Did you mean ${near}?`;
      const missing = `${pluralName(kind)} "${name}" not found`;
      return new RequestRefused('missing', missing, `No applied object has this name${place}.${question}`);
    }
    if (!declarer.startsWith(this.folder.path))
      return new RequestRefused('conflict', `${what} is declared by ${declarer}`, 'Remove it there.');
    const [workload = '', , ...owner] = declarer.slice(this.folder.path.length + 1, -'.json'.length).split('.');
    const hint = `kubelet-ts delete ${workload}/${owner.join('.')} deletes it.`;
    return new RequestRefused('conflict', `${what} belongs to ${workload}/${owner.join('.')}`, hint);
  }

  /**
   * Throws if an object would change an immutable one of the same name. Pods would get it only after the agent's next
   * start. kubernetes: pkg/apis/core/validation ValidateConfigMapUpdate, ValidateSecretUpdate
   */
  private refuseImmutable(before: string, object: ObjectText): void {
    if (object.kind !== 'ConfigMap' && object.kind !== 'Secret') return;
    const [held, next] = [before, object.text].map((text) =>
      loadManifest(Buffer.from(text), requestOrigin, this.deps).configObjects.find(isConfigData),
    );
    if (held?.immutable !== true || next === undefined) return;
    const fields = ['immutable', 'data', 'binaryData', 'type'] as const;
    const changed = fields.find((field) => !isDeepStrictEqual(held[field], next[field]));
    if (changed === undefined) return;
    const message = `${appliedName(object)} is not applied: ${changed}: field is immutable when \`immutable\` is set`;
    throw new RequestRefused('conflict', message, 'Delete the object first, or give the new one another name.');
  }

  /** Throws if another file or URL declares the object. */
  private refuseForeign(object: ObjectText, declarerOf: ChangeOptions['declarerOf']): void {
    const path = join(this.folder.path, appliedFileName(object));
    if (object.name === '') throw new RequestRefused('invalid', `a ${object.kind} has no name`, 'Set metadata.name.');
    if (Buffer.byteLength(object.text) > maxManifestBytes)
      throw new RequestRefused('invalid', `${appliedName(object)} is larger than 10 MiB`);
    for (const key of claimedKeys(loadManifest(Buffer.from(object.text), path, this.deps))) {
      const declarer = declarerOf(key);
      if (declarer === undefined || declarer === path) continue;
      const message = `${appliedName(object)} is not applied: ${declarer} declares ${key.replace('/', ' ')} already`;
      const isApplied = declarer.startsWith(this.folder.path);
      const hint = isApplied ? 'Delete that object first.' : 'Change it there, or remove it there first.';
      throw new RequestRefused('conflict', message, hint);
    }
  }
}

function refuseBroken(bytes: Uint8Array, deps: Deps): void {
  const { problems } = loadManifest(bytes, requestOrigin, deps);
  const [first, ...others] = problems.filter(({ severity }) => severity === 'error');
  if (first === undefined) return;
  const { hint, ...problem } = first;
  const more = others.length === 0 ? '' : ` (and ${others.length} more errors)`;
  throw new RequestRefused('invalid', `${problemText(problem, deps.clock.now())}${more}`, hint);
}

/** Puts pods and workloads last, so that their ConfigMaps, Secrets, classes and claims are read before them. */
function sortedForPods(objects: readonly ObjectText[]): ObjectText[] {
  const isRead = ({ kind }: ObjectText): boolean => isConfigKind(kind);
  return [...objects.filter(isRead), ...objects.filter((object) => !isRead(object))];
}

/** True for kinds that pods refer to, or that refer to pods. All others are pods and workloads. */
const isConfigKind = (kind: string): boolean =>
  /^(ConfigMap|Secret|Service|CSIDriver|Persistent.*|.*Class)$/.test(kind);
