import { readUndeclared } from '../../engine/gc/undeclared-records.ts';
import { PodDirs } from '../../engine/host/pod-dirs.ts';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename } from 'node:path';
import { errorMessage, hasCode, UserError } from '../../errors.ts';
import { listPIDs, readProcessFile, readStat } from '../../process-identity.ts';
import { readRegularFile } from '../../regular-file.ts';
import { fetchAgent } from '../../server/control/control-client.ts';
import { controlSocketPath, unnamedSocketPath } from '../../server/control/socket-paths.ts';
import type { AgentFacts, PortFacts } from './checks/facts.ts';

export interface Port {
  port: number;
  flag: string;
}

/** The state of a listening socket in /proc/net/tcp. */
const listening = '0A';

/** The program that listens on a TCP port of this network namespace. */
export async function readPort({ port, flag }: Port): Promise<PortFacts> {
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')),
  );
  const inodes = listenersOn(port, tables.join('\n'));
  if (inodes.length === 0) return { port, flag };
  for (const pid of await listPIDs()) {
    if (await holdsSocket(pid, inodes)) return { port, flag, holder: { pid, command: await commandOf(pid) } };
  }
  return { port, flag, holder: { command: 'a program that this user cannot see' } };
}

/** Inodes of the sockets that listen on a port, from the text of /proc/net/tcp. */
export function listenersOn(port: number, table: string): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return table.split('\n').flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    return state === listening && local?.endsWith(`:${hex}`) === true && inode !== undefined ? [inode] : [];
  });
}

async function holdsSocket(pid: number, inodes: readonly string[]): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  // The process ended, or belongs to another user.
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const target = await readlink(`${folder}/${name}`).catch(() => '');
    if (inodes.some((inode) => target === `socket:[${inode}]`)) return true;
  }
  return false;
}

/** The name of the program alone, because arguments may contain credentials. */
async function commandOf(pid: number): Promise<string> {
  const [program = '', script = ''] = await argumentsOf(pid);
  return basename(isNode(program) ? script : program) || 'a program';
}

const isNode = (program: string): boolean => /^node(js)?$/.test(basename(program));

/** Empty for a process that ended, or belongs to another user. */
const executableOf = (pid: number): Promise<string> => readlink(`/proc/${pid}/exe`).catch(() => '');

async function argumentsOf(pid: number): Promise<string[]> {
  return wordsOf((await readProcessFile(pid, 'cmdline')) ?? '');
}

/** The words of a command line, without the `--` that bin/kubelet-ts puts before its own path. */
export function wordsOf(commandLine: string): string[] {
  const words = commandLine.split('\0');
  return words[1] === '--' ? words.toSpliced(1, 1) : words;
}

/** The agent of this root-dir, and other kubelets of this machine. */
export async function readAgents(rootDir: string): Promise<AgentFacts> {
  const own = await readOwn(rootDir);
  const ownPID = own !== undefined && 'pid' in own ? own.pid : undefined;
  const found: AgentFacts['others'] = [];
  const parents = new Set<number>();
  for (const pid of await listPIDs()) {
    const kind = pid === process.pid ? undefined : await kindOf(pid);
    if (kind === undefined) continue;
    found.push({ pid, command: kind, isKubelet: kind === 'kubelet' });
    parents.add((await readStat(pid))?.parent ?? 0);
  }
  // The parent of an agent is its screen.
  const others = found.filter(({ pid }) => pid !== ownPID && !parents.has(pid));
  return { ...(own && { own }), others, undeclaredPods: await countUndeclaredPods(rootDir) };
}

async function countUndeclaredPods(rootDir: string): Promise<number> {
  const podDirs = new PodDirs({ rootDir });
  let count = 0;
  for (const uid of await podDirs.podUIDs()) if ((await readUndeclared(podDirs.podDir(uid))) === 'kept') count += 1;
  return count;
}

async function kindOf(pid: number): Promise<'kubelet' | 'kubelet-ts' | undefined> {
  const kind = kubeletKind(await argumentsOf(pid), await executableOf(pid));
  return kind === 'kubelet' && (await hasControlSocket(pid)) ? 'kubelet-ts' : kind;
}

/** More than 10,000 sockets. Any user may open sockets, so the table has no end of its own. */
const maxTableBytes = 4 * 1024 * 1024;

/** True for an agent, also if its program is a copy of ours with the name of the kubelet, which has no such socket. */
async function hasControlSocket(pid: number): Promise<boolean> {
  const table = await readRegularFile(`/proc/${pid}/net/unix`, maxTableBytes).catch(() => Buffer.alloc(0));
  return table.includes(`/${unnamedSocketPath('', pid)}\n`);
}

async function readOwn(rootDir: string): Promise<AgentFacts['own']> {
  try {
    return await fetchAgent(controlSocketPath(rootDir));
  } catch (error) {
    if (!(error instanceof UserError) || hasCode(error.cause, 'EACCES', 'EPERM')) throw error;
    return { message: errorMessage(error), ...(error.hint !== undefined && { hint: error.hint }) };
  }
}

/**
 * The kind of kubelet that a command line starts. Returns undefined for any other program. `executable` is the file
 * that the process runs, because a link to ours may have the name of the kubelet.
 */
export function kubeletKind(words: readonly string[], executable = ''): 'kubelet' | 'kubelet-ts' | undefined {
  const [program = ''] = words;
  const [path = '', command = ''] = isNode(program) ? words.slice(1) : words;
  const name = basename(path);
  const isOwn = isNode(program) || [name, basename(executable.replace(/ \(deleted\)$/, ''))].includes('kubelet-ts');
  if (!isOwn) return name === 'kubelet' ? 'kubelet' : undefined;
  // Under the kubelet's name, flags without a command are those of `run`.
  const isFlag = command === '' || command.startsWith('-');
  const isAgent = name === 'kubelet' ? isFlag || command === 'run' : name === 'kubelet-ts' && command === 'run';
  return isAgent ? 'kubelet-ts' : undefined;
}
