import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { NodeProcesses, type ProcessSettings } from '../../../src/engine/container-manager/node-processes.ts';
import { FakeCgroups } from '../../fakes/fake-cgroups.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { untilFilesRest } from '../../support/file-operations.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const [agent, containerd] = [100, 200];

let clock: FakeClock;
let cgroups: FakeCgroups;
/** Below the folder of the fake cgroups. */
let hierarchies: readonly string[];
let procFolder: string;
let runtimePID: number | undefined;
let logged: string[];

beforeEach(async () => {
  clock = new FakeClock();
  procFolder = await temporaryFolder();
  runtimePID = containerd;
  logged = [];
  await onVersion(2);
});

/** A machine with cgroups of this version, on which the agent and containerd run. */
async function onVersion(version: 1 | 2): Promise<void> {
  cgroups = await FakeCgroups.make(version, ['cpu', 'memory']);
  hierarchies = version === 1 ? ['cpu/', 'memory/'] : [''];
  for (const pid of [agent, containerd]) await addProcess(pid, '0\n');
}

/** A process of the root cgroup. Those of the kernel have no program. */
async function addProcess(pid: number, score: string, { isOfKernel = false } = {}): Promise<void> {
  await mkdir(join(procFolder, String(pid)), { recursive: true });
  await writeFile(join(procFolder, String(pid), 'oom_score_adj'), score);
  if (!isOfKernel) await symlinkOnce('/bin/true', join(procFolder, String(pid), 'exe'));
  for (const top of hierarchies) await cgroups.addProcess(top, pid);
}

async function symlinkOnce(target: string, path: string): Promise<void> {
  await rm(path, { force: true });
  await symlink(target, path);
}

const score = (pid: number): Promise<string> => readFile(join(procFolder, String(pid), 'oom_score_adj'), 'utf8');

function make(settings: Partial<ProcessSettings> = {}, writeScore = writeFile): NodeProcesses {
  return new NodeProcesses({
    settings: { oomScoreAdj: -999, kubeletCgroups: '', systemCgroups: '', ...settings },
    runtimePID: () => runtimePID,
    mounts: cgroups.mounts,
    files: {
      makeFolder: (path) => cgroups.makeFolder(path),
      write: (path, value) => (path.startsWith(procFolder) ? writeScore(path, value) : move(path, value)),
    },
    procFolder,
    ownPID: agent,
    clock,
    logger: {
      info: (facts: object, message: string) => {
        logged.push(`${message}: ${JSON.stringify(facts)}`);
      },
    } as ConstructorParameters<typeof NodeProcesses>[0]['logger'],
  });
}

function run(processes: NodeProcesses): void {
  const stopping = new AbortController();
  const running = processes.run(stopping.signal);
  onTestFinished(async () => {
    stopping.abort(new Error('the test is over'));
    await running.catch(() => undefined);
  });
}

/** As the kernel does: a process leaves the cgroup where it was. */
async function move(path: string, pid: string): Promise<void> {
  const before = await readFile(path, 'utf8');
  await cgroups.write(path, pid);
  await writeFile(path, `${before}${pid}\n`);
  const root = join(path, '../../cgroup.procs');
  const left = (await readFile(root, 'utf8')).split('\n').filter((line) => line !== pid);
  await writeFile(root, left.join('\n'));
}

describe('the oom_score_adj', () => {
  test('of agent and runtime is set again within five minutes after another program changed it', async () => {
    run(make());
    await untilFilesRest();
    expect([await score(agent), await score(containerd)]).toEqual(['-999', '-999']);
    await writeFile(join(procFolder, String(containerd), 'oom_score_adj'), '0');
    await clock.advance(300_000);
    await untilFilesRest();
    expect(await score(containerd)).toBe('-999');
  });

  test('of a runtime that the agent did not start is left alone', async () => {
    runtimePID = undefined;
    await make({ oomScoreAdj: 5 }).apply();
    expect([await score(agent), await score(containerd)]).toEqual(['5', '0\n']);
  });

  test('that may not be lowered is reported once', async () => {
    const processes = make({}, () => Promise.reject(new Error('EACCES: permission denied')));
    await processes.apply();
    await processes.apply();
    expect(logged).toEqual([
      'Could not protect this process from the OOM killer: {"process":"the runtime","oomScoreAdj":-999,"err":"EACCES: permission denied"}',
    ]);
  });
});

describe.each([1, 2] as const)('on cgroup v%i', (version) => {
  beforeEach(() => onVersion(version));

  test('the agent moves itself into kubeletCgroups, and stays there', async () => {
    const processes = make({ kubeletCgroups: '/agents/kubelet-ts' });
    await processes.apply();
    await processes.apply();
    expect(cgroups.writes).toEqual(hierarchies.map((top) => `${top}agents/kubelet-ts/cgroup.procs ${agent}`));
  });

  test('systemCgroups takes the processes of the root cgroup, but for the first and those of the kernel', async () => {
    await addProcess(1, '0');
    await addProcess(2, '0', { isOfKernel: true });
    // A process of another PID namespace.
    for (const top of hierarchies) await cgroups.addProcess(top, 0);
    await make({ systemCgroups: '/system', kubeletCgroups: '/agent' }).apply();
    const moves = (top: string): string[] => [
      `${top}agent/cgroup.procs ${agent}`,
      `${top}system/cgroup.procs ${containerd}`,
    ];
    expect(cgroups.writes.toSorted()).toEqual(hierarchies.flatMap(moves));
  });

  test('systemCgroups takes what comes later within a minute', async () => {
    run(make({ systemCgroups: '/system' }));
    await untilFilesRest();
    await addProcess(300, '0');
    await clock.advance(60_000);
    await untilFilesRest();
    expect(cgroups.writes.filter((write) => write.endsWith('300'))).toEqual(
      hierarchies.map((top) => `${top}system/cgroup.procs 300`),
    );
  });

  test('systemCgroups says once if a process cannot be moved, and moves what it can', async () => {
    const processes = make({ systemCgroups: '/system', kubeletCgroups: '/agent' });
    const [first = '', ...others] = hierarchies;
    cgroups.refuse(new RegExp(`^${first}system/cgroup\\.procs`), 'EINVAL');
    await processes.apply();
    await processes.apply();
    const refused = `process ${containerd}: EINVAL: refused, '${cgroups.mounts.hierarchies[0] ?? ''}/system/cgroup.procs'`;
    expect(logged).toEqual([
      `Moving processes into their cgroup failed; retrying: ${JSON.stringify({ err: refused })}`,
    ]);
    const moved = others.map((top) => `${top}system/cgroup.procs ${containerd}`);
    expect(cgroups.writes).toEqual(expect.arrayContaining([`${first}agent/cgroup.procs ${agent}`, ...moved]));
  });
});
