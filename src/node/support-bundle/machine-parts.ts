import { readFile } from 'node:fs/promises';
import { release } from 'node:os';
import { execa } from 'execa';
import { programVersion } from '../../process/program-version.ts';
import { managedPaths } from '../../containerd/managed-paths.ts';
import { readFileTail } from '../../files/regular-file.ts';
import { readMountInfo } from '../../engine/host/mount-info.ts';
import { listFolder } from '../../files/list-folder.ts';
import { historyFolder } from '../../engine/history/history-file.ts';
import { parseProcessCgroup } from '../../engine/stats/process-cgroup.ts';
import { listPIDs } from '../../process/process-identity.ts';
import { referenceVersion } from '../options/flags.ts';
import { serviceMark } from '../../process/service-mark.ts';
import type { Part } from './redact.ts';

const maxLogBytes = 1024 * 1024;
const maxHistoryBytes = 64 * 1024;
const maxHistories = 500;
const maxProcesses = 5000;
/** Milliseconds. */
const journalMs = 5000;

export async function versionPart(): Promise<Part> {
  const osRelease = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const versions = {
    'kubelet-ts': programVersion,
    kubelet: referenceVersion,
    node: process.version,
    kernel: release(),
    architecture: process.arch,
    distribution: /^PRETTY_NAME="?([^"\n]*)/m.exec(osRelease)?.[1] ?? '',
  };
  return { name: 'versions.json', content: { json: versions } };
}

/** The last lines of the logs of the agent and the managed containerd, and of the agent's journal. */
export async function logParts(rootDir: string): Promise<Part[]> {
  const [agent, containerd, journal] = await Promise.all([
    tailOf(`${rootDir}/kubelet-ts.log`),
    tailOf(managedPaths(rootDir).logFile),
    readJournal(),
  ]);
  const parts = { 'logs/agent.log': agent, 'logs/containerd.log': containerd, 'logs/journal.log': journal };
  return Object.entries(parts).flatMap(([name, text]) => (text === '' ? [] : [{ name, content: { text } }]));
}

/** Whole lines from the end of a file. Empty if the file is missing. */
async function tailOf(path: string, maxBytes = maxLogBytes): Promise<string> {
  const bytes = await readFileTail(path, maxBytes);
  if (bytes === undefined) return '';
  const text = Buffer.from(bytes).toString('utf8');
  return bytes.length < maxBytes ? text : text.slice(text.indexOf('\n') + 1);
}

/** Units that may run an agent: those of packages and kubeadm, and those that `install-service` wrote. */
export async function journalUnits(folder = '/etc/systemd/system'): Promise<string[]> {
  const isOurs = async (file: string): Promise<boolean> =>
    (await readFile(`${folder}/${file}`, 'utf8').catch(() => '')).includes(serviceMark);
  const units = new Set(['kubelet-ts', 'kubelet']);
  for (const file of (await listFolder(folder)).filter((name) => name.endsWith('.service')).sort()) {
    if (await isOurs(file)) units.add(file.replace(/\.service$/, ''));
  }
  return [...units];
}

/** The log of an agent that systemd started. Empty without systemd. */
async function readJournal(): Promise<string> {
  const units = (await journalUnits()).flatMap((unit) => ['--unit', unit]);
  const words = [...units, '--lines', '3000', '--no-pager', '--output', 'short-iso'];
  const { stdout, failed } = await execa('journalctl', words, {
    reject: false,
    timeout: journalMs,
    maxBuffer: 4 * maxLogBytes,
  });
  return failed ? '' : stdout.slice(-maxLogBytes);
}

/** The history of pods, read from the disk, which needs no agent. */
export async function historyParts(rootDir: string): Promise<Part[]> {
  const folder = historyFolder(rootDir);
  const names = (await listFolder(folder)).filter((name) => name.includes('.jsonl')).sort();
  return Promise.all(
    names
      .slice(0, maxHistories)
      .map(async (name) => ({
        name: `history/${name}.json`,
        content: { json: (await tailOf(`${folder}/${name}`, maxHistoryBytes)).split('\n').flatMap(parsedLine) },
      })),
  );
}

/** Empty for a line that a power failure truncated. */
function parsedLine(line: string): unknown[] {
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}

export async function mountsPart(): Promise<Part> {
  const text = await readMountInfo();
  return { name: 'mounts.txt', content: { text: text.slice(0, maxLogBytes) } };
}

/** Processes in cgroups of pods, without their args, which may contain credentials. */
export async function processesPart(): Promise<Part> {
  const lines: string[] = [];
  for (const pid of (await listPIDs()).slice(0, maxProcesses)) lines.push(...(await processLine(pid)));
  return { name: 'processes.txt', content: { text: ['PID STATE RSS-KB NAME CGROUP', ...lines, ''].join('\n') } };
}

async function processLine(pid: number): Promise<string[]> {
  // The process may exit meanwhile.
  const read = (name: string): Promise<string> => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');
  const cgroup = parseProcessCgroup(await read('cgroup'));
  if (cgroup === undefined || !/kubepods|kubelet-ts/.test(cgroup)) return [];
  const status = await read('status');
  const field = (name: string): string => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(status)?.[1] ?? '-';
  return [`${pid} ${field('State')} ${field('VmRSS')} ${field('Name')} ${cgroup}`];
}
