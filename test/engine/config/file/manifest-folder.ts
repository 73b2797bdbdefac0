import { isConfigData } from '../../../../src/api/values/config-object.ts';
import { mkdir, rename, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { FileSource } from '../../../../src/engine/config/file/file-source.ts';
import { LastGoodManifests } from '../../../../src/engine/config/last-good/last-good-manifests.ts';
import type { SourceUpdate } from '../../../../src/engine/config/pod-source.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { silentLogger } from '../../../fakes/silent-logger.ts';
import { whileTimePasses } from '../while-time-passes.ts';

/** A pod of one container, as YAML. */
export const podManifest = (name: string, image = 'app:1'): string =>
  `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${name}\nspec:\n  containers:\n  - name: main\n    image: ${image}\n`;

export const configMapManifest = (name: string, value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  key: ${value}\n`;

/** What a source declares: pods as `name image`, objects as `kind name value`, problems as `file: severity message`. */
export interface Declared {
  pods: string[];
  configObjects: string[];
  problems: string[];
}

/** No rescan finds what the watch does not tell. */
const neverMs = 1e9;

/** A folder of manifests, a root-dir, and sources that read the one and keep in the other what was good. */
export class ManifestFolder {
  readonly path: string;
  readonly rootDir: string;
  readonly clock: FakeClock;
  /** What its sources warned of. */
  readonly warnings: unknown[] = [];
  /** What is mounted, on this machine and on every other. */
  readMountPoints = (): Promise<string[]> => Promise.resolve(['/']);
  #lastGood: LastGoodManifests | undefined;

  private constructor(folder: string, clock: FakeClock) {
    this.path = join(folder, 'manifests');
    this.rootDir = join(folder, 'root');
    this.clock = clock;
  }

  static async make(clock = new FakeClock()): Promise<ManifestFolder> {
    const folder = new ManifestFolder(await temporaryFolder(), clock);
    await mkdir(folder.path);
    // What is being kept is kept before the folder goes.
    onTestFinished(() => folder.#lastGood?.retry());
    return folder;
  }

  at(name: string): string {
    return join(this.path, name);
  }

  put(name: string, text: string): Promise<void> {
    return writeFile(this.at(name), text);
  }

  /** A manifest that is written beside the folder's, and renamed into place a moment later. */
  async renameIn(name: string, text: string): Promise<void> {
    const beside = this.at(`.${name}.new`);
    await writeFile(beside, text);
    // The rename may come in the same tick of the kernel's clock as the write: then its time shows no rename.
    const writtenAt = this.clock.now() / 1000 - 1;
    await utimes(beside, writtenAt, writtenAt);
    await rename(beside, this.at(name));
  }

  /** A source in a new life of the agent. Without paths it reads the folder. */
  start(...paths: string[]): FileSource {
    this.#lastGood = new LastGoodManifests({ rootDir: this.rootDir, clock: this.clock, logger: silentLogger });
    return new FileSource({
      paths: paths.length === 0 ? [this.path] : paths,
      nodeName: 'edge1',
      fileCheckFrequencyMs: neverMs,
      clock: this.clock,
      logger: { ...silentLogger, warn: (...words: unknown[]) => this.warnings.push(words) },
      lastGood: this.#lastGood,
      readMountPoints: this.readMountPoints,
    });
  }

  /** Looks at everything, waits as long as the source wants to, and until what is good is on disk. */
  async read(source: FileSource): Promise<Declared> {
    const update = await whileTimePasses(this.clock, source.read());
    await this.#lastGood?.retry();
    return this.declared(update);
  }

  declared({ pods, configObjects = [], problems }: SourceUpdate): Declared {
    return {
      pods: pods.map(
        ({ metadata, spec }) => `${metadata.name.replace('-edge1', '')} ${spec.containers[0]?.image ?? ''}`,
      ),
      configObjects: configObjects
        .filter(isConfigData)
        .map(({ kind, name, data }) => `${kind} ${name} ${Buffer.from(data.get('key') ?? '').toString()}`),
      problems: problems.map(
        ({ origin, severity, message }) => `${origin.replace(`${this.path}/`, '')}: ${severity} ${message}`,
      ),
    };
  }
}
