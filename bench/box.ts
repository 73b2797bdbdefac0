import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, cp, link, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { systemClock } from '../src/clock.ts';
import { findContainerdProcess } from '../src/containerd/containerd-process.ts';
import { findShims } from '../src/containerd/containerd-shims.ts';
import type { InstalledContainerd } from '../src/containerd/find-containerd.ts';
import { managedPaths } from '../src/containerd/managed-paths.ts';
import { openChannel } from '../src/cri/grpc-channel.ts';
import { grpcRuntimeService } from '../src/cri/grpc-runtime-service.ts';
import type { RuntimeService } from '../src/cri/runtime-service.ts';
import { silent } from '../src/logger.ts';
import { benchManifest, imageArchive } from './bench-pod.ts';
import type { Figures } from './figures.ts';
import { millis } from './floor.ts';
import { removeLogLinks } from './log-links.ts';

const sizes = [1, 5, 20];
/** Milliseconds until V8 and Go have returned the garbage of the start. */
const settleMs = 60_000;
const pollMs = 100;
const startTimeoutMs = 300_000;
const maxRuns = 3;
const megabyte = 2 ** 20;

const who = 'kubelet-ts';

/**
 * Measures what a whole box needs beyond the containers of its pods, and how long they take to run after the agent
 * starts with no containerd and no image. All programs are copies, because a page that other processes of this machine
 * share would count only in part.
 */
export async function measureBox(bench: {
  figures: Figures;
  runs: number;
  installed: InstalledContainerd;
}): Promise<void> {
  const folder = await mkdtemp('/tmp/kubelet-ts-bench-');
  try {
    const programs = await copyPrograms(join(folder, 'p'), bench.installed);
    for (const pods of sizes) {
      for (let run = 0; run < Math.min(bench.runs, maxRuns); run++) {
        await measureOne(bench.figures, { folder: join(folder, `${pods}-${run}`), programs, pods });
      }
    }
    bench.figures.add(
      { what: 'disk of all programs: agent, Node, containerd, runc', unit: 'MB' },
      who,
      diskMB(programs),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
    await removeLogLinks(folder);
  }
}

/** Returns the folder. The agent is in it as in its package. */
async function copyPrograms(folder: string, { containerd, ctr, ociRuntime }: InstalledContainerd): Promise<string> {
  await mkdir(folder);
  await cp('dist', join(folder, 'dist'), { recursive: true });
  await cp('bin', join(folder, 'bin'), { recursive: true });
  await copyFile('package.json', join(folder, 'package.json'));
  const shim = join(dirname(containerd), 'containerd-shim-runc-v2');
  for (const program of [process.execPath, containerd, shim, ...(ctr === undefined ? [] : [ctr])])
    await copyFile(program, join(folder, 'bin', basename(program)));
  await copyFile(ociRuntime, join(folder, 'bin/runc'));
  return folder;
}

interface Box {
  folder: string;
  programs: string;
  pods: number;
}

async function measureOne(figures: Figures, { folder, programs, pods }: Box): Promise<void> {
  const root = join(folder, 'r');
  const paths = managedPaths(root);
  const manifests = join(folder, 'm');
  await Promise.all([paths.base, paths.imagesFolder, manifests].map((path) => mkdir(path, { recursive: true })));
  // As if an agent had run before, so that it does not use the machine's own runtime.
  await writeFile(paths.configFile, '');
  await link(imageArchive, join(paths.imagesFolder, 'busybox.tar')).catch(() =>
    copyFile(imageArchive, join(paths.imagesFolder, 'busybox.tar')),
  );
  for (let pod = 0; pod < pods; pod++) await writeFile(join(manifests, `${pod}.json`), benchManifest(`box-${pod}`));
  const program = join(programs, 'bin/kubelet-ts');
  const env = { ...process.env, PATH: `${join(programs, 'bin')}:${process.env['PATH'] ?? ''}` };
  const flags = ['--root-dir', root, '--pod-logs-dir', join(folder, 'logs')];
  const log = await open(join(folder, 'agent.log'), 'a');
  const spawnedAt = Date.now();
  const options = ['--no-tui', '--healthz-port', '0'];
  const agent = spawn(program, ['run', manifests, ...flags, ...options], { env, stdio: ['ignore', log.fd, log.fd] });
  await log.close();
  const exited = once(agent, 'exit');
  const channel = openChannel(paths.endpoint);
  try {
    const lastStartedAt = await untilAllRun(agent, grpcRuntimeService(channel), pods);
    figures.add(
      { what: `empty box: start of the agent → all run, ${podsText(pods)}`, unit: 'ms' },
      who,
      lastStartedAt - spawnedAt,
    );
    await systemClock.sleep(settleMs);
    const memory = await memoryMB(agent.pid ?? 0, paths);
    const { agent: own, containerd, shims } = memory;
    process.stderr.write(
      `  ${podsText(pods)}: agent ${own.toFixed()} MB, containerd ${containerd.toFixed()} MB, shims ${shims.toFixed()} MB\n`,
    );
    const what = `memory (PSS) of agent, containerd and shims, ${podsText(pods)}`;
    figures.add({ what, unit: 'MB' }, who, own + containerd + shims);
    if (pods !== sizes.at(-1)) return;
    figures.add({ what: `disk of the root-dir, ${podsText(pods)} of one image`, unit: 'MB' }, who, diskMB(root));
  } catch (error) {
    process.stderr.write((await readFile(join(folder, 'agent.log'), 'utf8')).split('\n').slice(-20).join('\n'));
    throw error;
  } finally {
    channel.close();
    agent.kill('SIGTERM');
    await exited;
    execFileSync(program, ['down', '--all', ...flags], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  }
}

const podsText = (pods: number): string => (pods === 1 ? '1 pod' : `${pods} pods`);

/** Resolves to the time at which the last container started. */
async function untilAllRun(agent: ChildProcess, runtime: RuntimeService, pods: number): Promise<number> {
  const deadline = performance.now() + startTimeoutMs;
  for (;;) {
    if (agent.exitCode !== null || agent.signalCode !== null) throw new Error('the agent ended by itself');
    if (performance.now() > deadline) throw new Error(`${pods} pods do not run within ${startTimeoutMs / 1000} s`);
    const filter = { state: { state: 'CONTAINER_RUNNING' as const } };
    const listed = await runtime.listContainers({ filter }).catch(() => ({ containers: [] }));
    if (listed.containers.length === pods) {
      const all = await Promise.all(listed.containers.map(({ id }) => runtime.containerStatus({ containerId: id })));
      return Math.max(...all.map(({ status }) => millis(status?.startedAt ?? 0n)));
    }
    await systemClock.sleep(pollMs);
  }
}

async function memoryMB(
  agent: number,
  { configFile, pidFile, socket }: ReturnType<typeof managedPaths>,
): Promise<Record<'agent' | 'containerd' | 'shims', number>> {
  const containerd = await findContainerdProcess(configFile, pidFile, silent);
  if (containerd === undefined) throw new Error('containerd ended');
  const shims = await Promise.all((await findShims(socket)).map(({ process: { pid } }) => proportionalMB(pid)));
  return {
    agent: await proportionalMB(agent),
    containerd: await proportionalMB(containerd.pid),
    shims: shims.reduce((sum, one) => sum + one, 0),
  };
}

/** A page that several processes share counts for each in part: proc_pid_smaps(5). */
async function proportionalMB(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s*(\d+)/m.exec(rollup)?.[1]) / 1024;
}

/** Without what is mounted there. */
const diskMB = (folder: string): number =>
  (Number(execFileSync('du', ['-sxk', folder], { encoding: 'utf8' }).split('\t')[0]) * 1024) / megabyte;
