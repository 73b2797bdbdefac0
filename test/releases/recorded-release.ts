import type { CreateContainerRequest, DeepPartial, RunPodSandboxRequest } from '../../src/cri/generated/cri.ts';

/** What a release of the program left when it stopped, with pods that ran on. */
export interface RecordedRelease {
  readonly commit: string;
  /** The folder of manifests, by file name. A UID without a field of its own depends on its path, `manifestsFolder`. */
  readonly manifests: Readonly<Record<string, string>>;
  /** Below the root-dir, folders before their content. */
  readonly files: readonly RecordedFile[];
  /** Requests to the runtime, in their order. */
  readonly sandboxes: readonly RecordedSandbox[];
  readonly containers: readonly RecordedContainer[];
}

export interface RecordedFile {
  readonly path: string;
  /** Octal. */
  readonly mode: string;
  /** Neither this nor `target`: a folder. */
  readonly text?: string;
  /** Of a symbolic link. */
  readonly target?: string;
}

export interface RecordedSandbox {
  readonly id: string;
  readonly isReady: boolean;
  readonly request: DeepPartial<RunPodSandboxRequest>;
}

export interface RecordedContainer {
  readonly id: string;
  /** Absent if it runs. */
  readonly exitCode?: number;
  readonly request: DeepPartial<CreateContainerRequest>;
}

export const manifestsFolder = '/run/manifests';
/** Names of the recorder's node, which a test replaces with its own. */
export const recordedRootDir = '/run/recorded-node';
export const recordedCgroupRoot = '/kts-recorded';
export const recordedImageId = `sha256:${'1'.repeat(64)}`;

/** A request without fields that have their default, which are not on the wire either. */
export function withoutDefaults<T>(value: T, isMap = false): DeepPartial<T> {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value as DeepPartial<T>;
  if (Array.isArray(value)) return value.map((one: unknown) => withoutDefaults(one)) as DeepPartial<T>;
  const fields = Object.entries(value).filter(([, field]) => isMap || !isDefault(field));
  return Object.fromEntries(
    fields.map(([name, field]) => [name, withoutDefaults(field as unknown, mapNames.has(name))]),
  ) as DeepPartial<T>;
}

const mapNames = new Set(['labels', 'annotations']);
const isDefault = (value: unknown): boolean =>
  value === '' || value === 0 || value === 0n || value === false || (Array.isArray(value) && value.length === 0);

/** JSON has no bigint. Buffers have a form of their own. */
export const releaseText = (release: RecordedRelease): string =>
  JSON.stringify(release, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));

const bigintText = /^-?\d+n$/;

export const parseRelease = (text: string): RecordedRelease =>
  JSON.parse(text, (_, value: unknown) => {
    if (typeof value === 'string' && bigintText.test(value)) return BigInt(value.slice(0, -1));
    return isBuffer(value) ? Buffer.from(value.data) : value;
  }) as RecordedRelease;

const isBuffer = (value: unknown): value is { data: number[] } =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer' && 'data' in value;
