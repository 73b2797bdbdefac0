import { readUndeclared } from '../../engine/gc/undeclared-records.ts';
import { PodDirs } from '../../engine/host/pod-dirs.ts';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename } from 'node:path';
import { errorMessage, hasCode, UserError } from '../../errors.ts';
import { listPIDs, readProcessFile } from '../../process/process-identity.ts';
import { fetchAgent } from '../../server/control/control-client.ts';
import { listAgents } from '../../server/control/list-agents.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';
import { describeListener, findPortListeners } from '../../engine/network/port-listeners.ts';
import type { NodeOptions } from '../options/node-options.ts';
import { readManifests } from '../sources/read-manifests.ts';
import type { AgentFacts, HostPortFacts, PortFacts } from './checks/facts.ts';

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

/** The programs that listen on host ports of the pods in these files and folders. */
export async function readHostPorts(options: NodeOptions): Promise<HostPortFacts[]> {
  const { manifestPaths: manifests, nodeName, featureGates, rootDir } = options;
  const { pods } = await readManifests({ manifests, nodeName, featureGates, rootDir, stdin: undefined });
  const found = await Promise.all(
    pods.map(async (pod) =>
      (await findPortListeners(pod)).map((listener) => ({
        pod: pod.metadata.name,
        sentence: describeListener(listener),
      })),
    ),
  );
  return found.flat();
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
  // The process exited, or belongs to another user.
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const target = await readlink(`${folder}/${name}`).catch(() => '');
    if (inodes.some((inode) => target === `socket:[${inode}]`)) return true;
  }
  return false;
}

/** Only the name of the program, because args may contain credentials. */
async function commandOf(pid: number): Promise<string> {
  const [program = '', ...words] = await argumentsOf(pid);
  const script = /^node(js)?$/.test(basename(program)) ? words.find((word) => !word.startsWith('-')) : undefined;
  return basename(script ?? program) || 'a program';
}

async function argumentsOf(pid: number): Promise<string[]> {
  return ((await readProcessFile(pid, 'cmdline')) ?? '').split('\0');
}

/** The agent of this root-dir, and other kubelets of this machine. */
export async function readAgents(rootDir: string): Promise<AgentFacts> {
  const own = await readOwn(rootDir);
  const agents = await listAgents();
  const kubelets: AgentFacts['others'] = [];
  for (const pid of await listPIDs()) {
    if (!agents.some((agent) => agent.pid === pid) && (await isKubelet(pid))) kubelets.push({ pid });
  }
  const others = [...agents.filter((agent) => agent.rootDir !== rootDir), ...kubelets];
  return { ...(own && { own }), others, undeclaredPods: await countUndeclaredPods(rootDir) };
}

async function countUndeclaredPods(rootDir: string): Promise<number> {
  const podDirs = new PodDirs({ rootDir });
  let count = 0;
  for (const uid of await podDirs.podUIDs()) if ((await readUndeclared(podDirs.podDir(uid))) === 'kept') count += 1;
  return count;
}

/** True for a kubelet of Kubernetes. A command of ours may also have that name, through a link. */
async function isKubelet(pid: number): Promise<boolean> {
  const [program = ''] = await argumentsOf(pid);
  if (basename(program) !== 'kubelet') return false;
  // Empty for a process that exited or belongs to another user.
  const executable = await readlink(`/proc/${pid}/exe`).catch(() => '');
  return basename(executable.replace(/ \(deleted\)$/, '')) !== 'kubelet-ts';
}

async function readOwn(rootDir: string): Promise<AgentFacts['own']> {
  try {
    return await fetchAgent(controlSocketPath(rootDir));
  } catch (error) {
    if (!(error instanceof UserError) || hasCode(error.cause, 'EACCES', 'EPERM')) throw error;
    return { message: errorMessage(error), ...(error.hint !== undefined && { hint: error.hint }) };
  }
}
