import { isDeepStrictEqual } from 'node:util';
import type { TomlTable, TomlValue } from 'smol-toml';
import { type ContainerdVersion, isAtLeast } from './containerd-version.ts';

/** A file with additions to the configuration of a managed containerd. */
export interface DropIn {
  readonly file: string;
  readonly config: TomlTable;
}

/** The names of a value: of its tables from the outside, and its own. */
export type KeyPath = readonly string[];

type Version = Pick<ContainerdVersion, 'major' | 'minor'>;

/**
 * Adds drop-ins to a configuration of ours, each after the ones before it. What the configuration has already stays as
 * it is. `ignored` has a sentence for each value that therefore does not count.
 */
export function mergeDropIns(
  base: TomlTable,
  dropIns: readonly DropIn[],
  { version, systemdCgroup }: { version: Version; systemdCgroup: boolean },
): { config: TomlTable; ignored: string[] } {
  const ours = [...leavesOf(base)].filter(([path]) => !mayChange(path));
  const ignored: string[] = [];
  const config = structuredClone(base);
  for (const { file, config: added } of dropIns) {
    for (const [shown, value] of leavesOf(added)) {
      const path = pathIn(shown, version);
      const isCgroupDriver = path.at(-1) === 'SystemdCgroup';
      if (!isCgroupDriver && !isKept(path, ours)) setValue(config, path, value);
      else if (
        !isDeepStrictEqual(value, isCgroupDriver ? systemdCgroup : valueAt(base, path)) &&
        shown[0] !== 'version'
      )
        ignored.push(`${file}: ${keyText(shown)} is ignored, because kubelet-ts sets it`);
    }
  }
  setCgroupDriver(config, version, systemdCgroup);
  return { config, ignored };
}

/** All values of a configuration with their paths. A list is one value. */
export function* leavesOf(table: TomlTable, above: KeyPath = []): Generator<[KeyPath, TomlValue]> {
  for (const [key, value] of Object.entries(table)) {
    const path = [...above, key];
    if (isTable(value)) yield* leavesOf(value, path);
    else yield [path, value];
  }
}

/** Returns the value at a path. Returns undefined if a part of the path is missing. */
export function valueAt(table: TomlTable, [key = '', ...rest]: KeyPath): TomlValue | undefined {
  const value = Object.hasOwn(table, key) ? table[key] : undefined;
  if (rest.length === 0) return value;
  return isTable(value) ? valueAt(value, rest) : undefined;
}

/** A path as one writes it in TOML. */
export const keyText = (path: KeyPath): string =>
  path.map((key) => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key))).join('.');

/** A runtime of containerd, which a RuntimeClass names as its handler. */
export interface AddedRuntime {
  readonly name: string;
  /** Selects the shim: `io.containerd.runc.v2` is `containerd-shim-runc-v2`. */
  readonly type: string | undefined;
  /** The program that the shim runs instead of runc. */
  readonly program: string | undefined;
}

/** The runtimes that a drop-in adds. */
export function runtimesOf(config: TomlTable): AddedRuntime[] {
  return [plugins.cri, plugins.runtime].flatMap((plugin) => {
    const runtimes = valueAt(config, ['plugins', plugin, 'containerd', 'runtimes']);
    return Object.entries(isTable(runtimes) ? runtimes : {}).map(([name, runtime]) => {
      const textAt = (path: KeyPath): string | undefined => {
        const value = isTable(runtime) ? valueAt(runtime, path) : undefined;
        return typeof value === 'string' ? value : undefined;
      };
      return { name, type: textAt(['runtime_type']), program: textAt(['options', 'BinaryName']) };
    });
  });
}

const plugins = {
  /** The whole CRI in 1.x. In 2.x, only its server of streams. */
  cri: 'io.containerd.grpc.v1.cri',
  runtime: 'io.containerd.cri.v1.runtime',
  images: 'io.containerd.cri.v1.images',
};
const streamingKeys = /^(disable_tcp_service|stream_\w+|enable_tls_streaming|x509_key_pair_streaming)$/;
const imageKeys = /^(registry|image_decryption|image_pull_\w+|max_concurrent_downloads|stats_collect_period)$/;
const imageKeysOfContainerd = /^(snapshotter|disable_snapshot_annotations|discard_unpacked_layers)$/;

/**
 * Where a containerd of this version reads a value of the CRI plugin of 1.x. containerd 2 converts a whole file, so we
 * convert what we add to one of `version = 3`. containerd: plugins/cri/{images,runtime}/plugin.go configMigration
 */
export function pathIn(path: KeyPath, version: Version): KeyPath {
  const [top, plugin, key = '', ...rest] = path;
  if (!isAtLeast(version, 2, 0) || top !== 'plugins' || plugin !== plugins.cri || streamingKeys.test(key)) return path;
  if (key === 'sandbox_image') return [top, plugins.images, 'pinned_images', 'sandbox'];
  if (imageKeys.test(key)) return [top, plugins.images, key, ...rest];
  if (key === 'containerd' && imageKeysOfContainerd.test(rest[0] ?? '')) return [top, plugins.images, ...rest];
  return [top, plugins.runtime, key, ...rest];
}

/** Values of ours that a drop-in may replace. */
const mayChange = (path: KeyPath): boolean =>
  ['oom_score', 'level', 'default_runtime_name'].includes(path.at(-1) ?? '');

/** What a drop-in may not set although we leave it to containerd. */
const reserved: readonly KeyPath[] = [
  // A lower limit for messages would break the agent's calls.
  ['grpc'],
  ['ttrpc'],
  ...[plugins.cri, plugins.runtime].flatMap((cri) => [
    ['plugins', cri, 'cni'],
    ['plugins', cri, 'enable_cdi'],
  ]),
  // containerd accepts no mirrors there if it has a folder for them, as ours has.
  ...[plugins.cri, plugins.images].map((cri) => ['plugins', cri, 'registry']),
  ...['overlayfs', 'native'].map((name) => ['plugins', `io.containerd.snapshotter.v1.${name}`, 'root_path']),
];

function isKept(path: KeyPath, ours: readonly [KeyPath, TomlValue][]): boolean {
  return (
    reserved.some((one) => isWithin(path, one)) || ours.some(([one]) => isWithin(path, one) || isWithin(one, path))
  );
}

/** True if `path` is `table` or below it. */
const isWithin = (path: KeyPath, table: KeyPath): boolean => table.every((key, index) => path[index] === key);

function setValue(table: TomlTable, [key = '', ...rest]: KeyPath, value: TomlValue): void {
  const inner = valueAt(table, [key]);
  const below = isTable(inner) ? inner : {};
  if (rest.length > 0) setValue(below, rest, value);
  // Assigning to `__proto__` would set the prototype.
  const own = { value: rest.length > 0 ? below : value, enumerable: true, writable: true, configurable: true };
  Object.defineProperty(table, key, own);
}

/** runc and what is called like it must create cgroups as the agent names them. */
function setCgroupDriver(config: TomlTable, version: Version, systemdCgroup: boolean): void {
  const path = ['plugins', isAtLeast(version, 2, 0) ? plugins.runtime : plugins.cri, 'containerd', 'runtimes'];
  const runtimes = valueAt(config, path);
  for (const runtime of Object.values(isTable(runtimes) ? runtimes : {})) {
    if (isTable(runtime) && runtime['runtime_type'] === 'io.containerd.runc.v2')
      setValue(runtime, ['options', 'SystemdCgroup'], systemdCgroup);
  }
}

/** True for a table, and not for a list or a date. */
const isTable = (value: TomlValue | undefined): value is TomlTable =>
  typeof value === 'object' && [null, Object.prototype].includes(Object.getPrototypeOf(value) as object | null);
