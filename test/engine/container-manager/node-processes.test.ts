import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
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
let procFolder: string;
let runtimePID: number | undefined;
let logged: string[];

beforeEach(async () => {
  clock = new FakeClock();
  cgroups = await FakeCgroups.make(1, ['cpu', 'memory']);
  procFolder = await temporaryFolder();
  runtimePID = containerd;
  logged = [];
  for (const pid of [agent, containerd]) await addProcess(pid, '0\n');
});

/** A process of the root cgroup. Those of the kernel have no program. */
async function addProcess(pid: number, score: string, { isOfKernel = false } = {}): Promise<void> {
  await mkdir(join(procFolder, String(pid)));
  await writeFile(join(procFolder, String(pid), 'oom_score_adj'), score);
  if (!isOfKernel) await symlink('/bin/true', join(procFolder, String(pid), 'exe'));
  for (const top of ['cpu', 'memory']) await cgroups.addProcess(top, pid);
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

  test('that may not be lowered is said once', async () => {
    const processes = make({}, () => Promise.reject(new Error('EACCES: permission denied')));
    await processes.apply();
    await processes.apply();
    expect(logged).toEqual([
      'Could not protect this process from the OOM killer: {"process":"the runtime","oomScoreAdj":-999,"err":"EACCES: permission denied"}',
    ]);
  });
});

test('the agent moves itself into kubeletCgroups, and stays there', async () => {
  const processes = make({ kubeletCgroups: '/agents/kubelet-ts' });
  await processes.apply();
  await processes.apply();
  expect(cgroups.writes).toEqual(['cpu', 'memory'].map((top) => `${top}/agents/kubelet-ts/cgroup.procs ${agent}`));
});

test('on cgroup v2 there is one cgroup for all controllers', async () => {
  cgroups = await FakeCgroups.make(2);
  await make({ kubeletCgroups: '/agent' }).apply();
  expect(cgroups.writes).toEqual([`agent/cgroup.procs ${agent}`]);
});

describe('systemCgroups', () => {
  test('takes the processes of the root cgroup, but for the first and those of the kernel', async () => {
    await addProcess(1, '0');
    await addProcess(2, '0', { isOfKernel: true });
    // A process of another PID namespace.
    await cgroups.addProcess('memory', 0);
    await make({ systemCgroups: '/system', kubeletCgroups: '/agent' }).apply();
    expect(cgroups.writes.filter((write) => write.startsWith('memory'))).toEqual([
      `memory/agent/cgroup.procs ${agent}`,
      `memory/system/cgroup.procs ${containerd}`,
    ]);
  });

  test('takes what comes later within a minute', async () => {
    run(make({ systemCgroups: '/system' }));
    await untilFilesRest();
    await addProcess(300, '0');
    await clock.advance(60_000);
    await untilFilesRest();
    expect(cgroups.writes.filter((write) => write.endsWith('300'))).toEqual([
      'cpu/system/cgroup.procs 300',
      'memory/system/cgroup.procs 300',
    ]);
  });

  test('says once if a process cannot be moved, and moves the others', async () => {
    const processes = make({ systemCgroups: '/system', kubeletCgroups: '/agent' });
    cgroups.refuse(/cpu\/system\/cgroup\.procs/, 'EINVAL');
    await processes.apply();
    await processes.apply();
    const refused = `process ${containerd}: EINVAL: refused, '${cgroups.mounts.controllers.get('cpu') ?? ''}/system/cgroup.procs'`;
    expect(logged).toEqual([
      `Moving processes into their cgroup failed; retrying: ${JSON.stringify({ err: refused })}`,
    ]);
    expect(cgroups.writes).toContain(`memory/system/cgroup.procs ${containerd}`);
  });
});
