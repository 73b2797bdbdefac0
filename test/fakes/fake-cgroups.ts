import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import type { CgroupFiles } from '../../src/engine/container-manager/cgroup-files.ts';
import type { CgroupController, CgroupMounts } from '../../src/engine/container-manager/cgroup-mounts.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Files that a new cgroup has for each controller, without those for huge pages. */
const filesV1: Readonly<Record<CgroupController, readonly string[]>> = {
  cpu: ['cpu.shares', 'cpu.cfs_period_us', 'cpu.cfs_quota_us'],
  memory: ['memory.limit_in_bytes'],
  pids: ['pids.max'],
  hugetlb: ['hugetlb.2MB.limit_in_bytes', 'hugetlb.2MB.rsvd.limit_in_bytes'],
};
const filesV2: typeof filesV1 = {
  cpu: ['cpu.weight', 'cpu.max'],
  memory: ['memory.max', 'memory.min', 'memory.low', 'memory.high'],
  pids: ['pids.max'],
  hugetlb: ['hugetlb.2MB.max', 'hugetlb.2MB.rsvd.max'],
};

const initialValues: Readonly<Record<string, string>> = { 'memory.min': '0', 'memory.low': '0', 'memory.high': 'max' };

/**
 * A cgroup file system in a temporary folder. Cgroups have the files of their controllers and refuse what the kernel
 * would refuse.
 */
export class FakeCgroups implements CgroupFiles {
  readonly mounts: CgroupMounts;
  /** Every write as `path value`, with the path relative to the mount. */
  readonly writes: string[] = [];
  readonly killed: number[] = [];
  readonly #top: string;
  readonly #processFiles = new Map<number, string>();
  readonly #attemptsSurvived = new Map<number, number>();
  readonly #refusals: { path: RegExp; code: string }[] = [];

  private constructor(top: string, mounts: CgroupMounts) {
    this.#top = top;
    this.mounts = mounts;
  }

  /** Unless given a folder, uses one that is removed when the test ends. */
  static async make(
    version: 1 | 2,
    controllers: readonly CgroupController[] = ['cpu', 'memory', 'pids', 'hugetlb'],
    folder?: string,
  ): Promise<FakeCgroups> {
    const top = folder ?? (await temporaryFolder());
    await mkdir(top, { recursive: true });
    const folders = version === 1 ? [...controllers, 'freezer'].map((name) => join(top, name)) : [top];
    const mounts: CgroupMounts = {
      version,
      controllers: new Map(controllers.map((name) => [name, version === 1 ? join(top, name) : top])),
      hierarchies: folders,
    };
    const fake = new FakeCgroups(top, mounts);
    for (const folder of folders) await fake.#populate(folder, controllers);
    return fake;
  }

  /** Makes every operation on matching paths fail with this code. */
  refuse(path: RegExp, code: string): void {
    this.#refusals.push({ path, code });
  }

  allowAll(): void {
    this.#refusals.length = 0;
  }

  async makeFolder(path: string): Promise<void> {
    this.#check(path);
    if (existsSync(path)) return;
    if (!existsSync(dirname(path))) await this.makeFolder(dirname(path));
    await mkdir(path);
    await this.#populate(path, await this.#controllersOf(path));
  }

  async write(path: string, value: string): Promise<void> {
    this.#check(path);
    if (!existsSync(path)) throw refusal('ENOENT', path);
    this.writes.push(`${relative(this.#top, path)} ${value}`);
    if (basename(path) === 'cgroup.subtree_control') await this.#handDown(path, value.slice(1));
    else if (this.mounts.version === 2 && basename(path) === 'cgroup.procs') await this.#move(Number(value), path);
    else await writeFile(path, value);
  }

  async removeFolder(path: string): Promise<void> {
    this.#check(path);
    if (!existsSync(path)) throw refusal('ENOENT', path);
    const entries = await readdir(path, { withFileTypes: true });
    const processes = await readFile(join(path, 'cgroup.procs'), 'utf8');
    if (entries.some((entry) => entry.isDirectory()) || processes !== '') throw refusal('EBUSY', path);
    await rm(path, { recursive: true });
  }

  kill(pid: number): void {
    this.killed.push(pid);
    const attempts = (this.#attemptsSurvived.get(pid) ?? 0) - 1;
    this.#attemptsSurvived.set(pid, attempts);
    if (attempts < 0) this.#takeOut(pid);
  }

  /**
   * Puts a process into an existing cgroup. It exits when it is killed, after the number of attempts that it survives.
   */
  async addProcess(path: string, pid: number, { survives = 0 } = {}): Promise<void> {
    const file = join(this.#top, path, 'cgroup.procs');
    this.#processFiles.set(pid, file);
    this.#attemptsSurvived.set(pid, survives);
    await appendFile(file, `${pid}\n`);
  }

  /** Makes its root the cgroup of a container, as in a cgroup namespace. */
  async beInContainer(): Promise<void> {
    await writeFile(join(this.#top, 'cgroup.type'), 'domain\n');
  }

  /** Returns the processes in a cgroup. */
  async processes(path: string): Promise<number[]> {
    return (await readFile(join(this.#top, path, 'cgroup.procs'), 'utf8')).split('\n').filter(Boolean).map(Number);
  }

  /** Returns the settings of a cgroup by file name, or undefined if it does not exist. */
  async settings(path: string): Promise<Record<string, string> | undefined> {
    const folder = join(this.#top, path);
    if (!existsSync(folder)) return undefined;
    const entries = await readdir(folder, { withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile() && !entry.name.startsWith('cgroup.'))
      .map(({ name }) => name);
    const values = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
    return Object.fromEntries(files.map((name, index) => [name, values[index] ?? '']));
  }

  #check(path: string): void {
    const refused = this.#refusals.find((candidate) => candidate.path.test(relative(this.#top, path)));
    if (refused !== undefined) throw refusal(refused.code, path);
  }

  async #populate(folder: string, controllers: readonly CgroupController[]): Promise<void> {
    const files = controllers.flatMap((controller) => (this.mounts.version === 1 ? filesV1 : filesV2)[controller]);
    await mkdir(folder, { recursive: true });
    for (const name of ['cgroup.procs', ...(this.mounts.version === 2 ? ['cgroup.subtree_control'] : []), ...files]) {
      await writeFile(join(folder, name), initialValues[name] ?? '');
    }
  }

  async #controllersOf(path: string): Promise<CgroupController[]> {
    const { version, controllers } = this.mounts;
    const all = [...controllers.keys()];
    if (version === 1) return all.filter((name) => path.startsWith(`${controllers.get(name) ?? ''}/`));
    const handedDown = (await readFile(join(dirname(path), 'cgroup.subtree_control'), 'utf8')).split(' ');
    return all.filter((name) => handedDown.includes(name));
  }

  #takeOut(pid: number): void {
    const file = this.#processFiles.get(pid);
    if (file === undefined) return;
    const left = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && line !== String(pid));
    writeFileSync(file, left.map((line) => `${line}\n`).join(''));
  }

  async #move(pid: number, path: string): Promise<void> {
    if (!this.#processFiles.has(pid)) throw refusal('ESRCH', path);
    this.#takeOut(pid);
    this.#processFiles.set(pid, path);
    await appendFile(path, `${pid}\n`);
  }

  /**
   * Like the kernel, gives child cgroups the controller's files. A cgroup that contains processes cannot delegate
   * controllers, unless it is the machine's root.
   */
  async #handDown(path: string, controller: string): Promise<void> {
    const processes = await readFile(join(dirname(path), 'cgroup.procs'), 'utf8');
    if (processes !== '' && existsSync(join(dirname(path), 'cgroup.type'))) throw refusal('EBUSY', path);
    const before = await readFile(path, 'utf8');
    await writeFile(path, `${before} ${controller}`.trim());
    const files = [...this.mounts.controllers.keys()].flatMap((name) => (name === controller ? filesV2[name] : []));
    const children = (await readdir(dirname(path), { withFileTypes: true })).filter((entry) => entry.isDirectory());
    for (const { name } of children) {
      for (const file of files) await writeFile(join(dirname(path), name, file), '');
    }
  }
}

function refusal(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: refused, '${path}'`), { code });
}
