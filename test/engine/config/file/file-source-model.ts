import { chmod, mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { configMapManifest, podManifest } from './manifest-folder.ts';

/** Something that a manifest declares: `Pod web` with image `app:2`, or `ConfigMap web` with value `2`. */
export interface TestObject {
  kind: 'Pod' | 'ConfigMap';
  name: string;
  version: number;
}

/** What a file says. `partly`: one more document is bad; `wholly`: nothing of it can be read. */
export interface TestRevision {
  objects: TestObject[];
  bad: 'not' | 'partly' | 'wholly';
}

/** Something that happens to a file. */
export type Change =
  | { do: 'overwrite' | 'rename in'; file: string; revision: TestRevision }
  | { do: 'link'; file: string; target: string }
  | { do: 'delete' | 'make a folder of'; file: string }
  | { do: 'chmod'; file: string; mode: number };

export type Operation = Change | { do: 'look' } | { do: 'restart' };

const files = ['a.yaml', 'b.yaml', 'c.yaml'];
/** In another folder, where links lead. */
const targets = ['../store/a', '../store/b', '../store/c'];

const anyRevision = (minLength: number): fc.Arbitrary<TestRevision> =>
  fc.record({
    objects: fc.uniqueArray(
      fc.record({
        kind: fc.constantFrom('Pod', 'Pod', 'ConfigMap'),
        name: fc.constantFrom('web', 'db', 'job'),
        version: fc.integer({ min: 1, max: 3 }),
      }),
      { minLength, maxLength: 3, selector: ({ kind, name }) => `${kind} ${name}` },
    ),
    bad: fc.constantFrom('not', 'not', 'not', 'partly', 'wholly'),
  });

/** Links that lead anywhere. */
const anyLink = fc.record({
  do: fc.constant('link'),
  file: fc.constantFrom(...files),
  target: fc.constantFrom(...targets, 'a.yaml'),
});

/** Links of which no two lead to one file. */
const ownLink = fc
  .record({ do: fc.constant('link'), file: fc.constantFrom(...files) })
  .map((link) => ({ ...link, target: `../store/${link.file.charAt(0)}` }));

const changes = (minObjects: number, link: fc.Arbitrary<Change>): fc.Arbitrary<Change> =>
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constantFrom('overwrite', 'rename in'),
        file: fc.constantFrom(...files, ...targets),
        revision: anyRevision(minObjects),
      }),
    },
    { weight: 2, arbitrary: link },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom('delete', 'delete', 'make a folder of'),
        file: fc.constantFrom(...files),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('delete'), file: fc.constantFrom(...targets) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('chmod'),
        file: fc.constantFrom(...files),
        mode: fc.constantFrom(0o600, 0o644),
      }),
    },
  );

/**
 * What may happen to manifests while a source watches them, and be seen in what it declares. Two names of one file
 * change together, and it is chance which of them is looked at first: they are left out.
 */
export const anyChange = changes(1, ownLink);

/** What may happen to manifests, and when somebody looks at them. */
export const anyOperation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 11, arbitrary: changes(0, anyLink) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('look') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('restart') }) },
);

type Entry = { is: 'file'; revision: TestRevision } | { is: 'link'; to: string } | { is: 'folder' };

interface KnownFile {
  declared: TestObject[];
  lastGood: TestObject[] | undefined;
  isBad: boolean;
}

/** What a source has to declare, in the simplest words; and the folder on disk that it is told of. */
export class FileSourceModel {
  readonly #folder: string;
  readonly #entries = new Map<string, Entry>();
  /** In the order in which they were seen. */
  #known = new Map<string, KnownFile>();
  /** By `kind name`: the files that declare it, the first one first. */
  #claims = new Map<string, string[]>();
  #writes = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Does to the disk, and to what is known of it, what the operation says. */
  async apply(operation: Change): Promise<void> {
    const path = join(this.#folder, operation.file);
    const entry = this.#entries.get(operation.file);
    switch (operation.do) {
      case 'overwrite':
        // Over a link that would be written through.
        if (entry !== undefined && entry.is !== 'file') return;
        await this.#write(path, operation.revision);
        this.#entries.set(operation.file, { is: 'file', revision: operation.revision });
        return;
      case 'rename in':
        if (entry?.is === 'folder') return;
        await this.#write(`${this.#folder}.new`, operation.revision);
        await rename(`${this.#folder}.new`, path);
        this.#entries.set(operation.file, { is: 'file', revision: operation.revision });
        return;
      case 'link':
        await rm(path, { recursive: true, force: true });
        await symlink(operation.target, path);
        this.#entries.set(operation.file, { is: 'link', to: operation.target });
        return;
      case 'delete':
        await rm(path, { recursive: true, force: true });
        this.#entries.delete(operation.file);
        return;
      case 'make a folder of':
        await rm(path, { recursive: true, force: true });
        await mkdir(path);
        this.#entries.set(operation.file, { is: 'folder' });
        return;
      case 'chmod':
        if (entry?.is === 'file') await chmod(path, operation.mode);
        return;
    }
  }

  /** What is known after a look at the folder. */
  look(): void {
    this.#read();
    for (const file of [...this.#known.keys()]) {
      if (this.#entries.has(file)) continue;
      this.#known.delete(file);
      this.#claim(file, []);
    }
  }

  /** What is known after the first look of a new life. */
  restart(): void {
    const [known, claims] = [this.#known, this.#claims];
    this.#known = new Map();
    this.#claims = new Map();
    this.#read((file) => known.get(file)?.lastGood);
    for (const [key, claimants] of this.#claims) {
      if (claimants.length < 2) continue;
      const before = claims.get(key) ?? [];
      const rank = (file: string): number => {
        if (before.length > 1 && before.includes(file)) return before.indexOf(file);
        return known.get(file)?.lastGood?.some((object) => keyOf(object) === key) === true ? 10 : 11;
      };
      this.#claims.set(
        key,
        claimants.toSorted((a, b) => rank(a) - rank(b)),
      );
    }
  }

  /** As ManifestFolder tells what a source declares, sorted; of the problems, what kind of errors a file has. */
  get expected(): { pods: string[]; configObjects: string[]; wrong: string[] } {
    const expected = { pods: new Array<string>(), configObjects: new Array<string>(), wrong: new Set<string>() };
    for (const [file, { declared, isBad }] of this.#known) {
      if (isBad) expected.wrong.add(`${file} is bad`);
      for (const object of declared) {
        if (this.#claims.get(keyOf(object))?.[0] !== file) expected.wrong.add(`${file} is refused something`);
        else if (object.kind === 'Pod') expected.pods.push(`${object.name} app:${object.version}`);
        else expected.configObjects.push(`ConfigMap ${object.name} v${object.version}`);
      }
    }
    return {
      pods: expected.pods.sort(),
      configObjects: expected.configObjects.sort(),
      wrong: [...expected.wrong].sort(),
    };
  }

  #read(lastGoodOf = (file: string): TestObject[] | undefined => this.#known.get(file)?.lastGood): void {
    for (const file of files) {
      if (!this.#entries.has(file)) continue;
      const { objects, bad } = this.#resolve(file) ?? { objects: [], bad: 'wholly' };
      const lastGood = bad === 'not' ? objects : lastGoodOf(file);
      const declared = lastGood ?? (bad === 'wholly' ? [] : objects);
      this.#known.set(file, { declared, lastGood, isBad: bad !== 'not' });
      this.#claim(file, declared.map(keyOf));
    }
  }

  /** The revision that a name leads to; undefined: none. */
  #resolve(file: string, links = 0): TestRevision | undefined {
    const entry = this.#entries.get(file);
    if (entry?.is === 'file') return entry.revision;
    return entry?.is === 'link' && links < 8 ? this.#resolve(entry.to, links + 1) : undefined;
  }

  #claim(file: string, keys: string[]): void {
    for (const [key, claimants] of this.#claims) {
      if (!keys.includes(key))
        this.#claims.set(
          key,
          claimants.filter((other) => other !== file),
        );
    }
    for (const key of keys) {
      const claimants = this.#claims.get(key) ?? [];
      if (!claimants.includes(file)) this.#claims.set(key, [...claimants, file]);
    }
  }

  async #write(path: string, revision: TestRevision): Promise<void> {
    await mkdir(join(this.#folder, '../store'), { recursive: true });
    await writeFile(path, textOf(revision));
    // Long ago, so that nobody waits for it to be finished, and never twice at the same time.
    const time = Date.UTC(2024, 0, 1) / 1000 + ++this.#writes;
    await utimes(path, time, time);
  }
}

function textOf({ objects, bad }: TestRevision): string {
  if (bad === 'wholly') return 'apiVersion: [';
  const documents = objects.map(({ kind, name, version }) =>
    kind === 'Pod' ? podManifest(name, `app:${version}`) : configMapManifest(name, `v${version}`),
  );
  if (bad === 'partly') documents.push('apiVersion: v1\nkind: Pod\nmetadata: {}\n');
  return documents.length === 0 ? 'apiVersion: v1\nkind: List\nitems: []\n' : documents.join('---\n');
}

const keyOf = ({ kind, name }: TestObject): string => `${kind} ${name}`;
