import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { containerLogLinksDir } from '../../src/engine/container/log-paths.ts';
import { processesOf } from './processes.ts';

/** What is left of an agent that was taken down. */
export interface Leftovers {
  processes: string[];
  mounts: string[];
  cgroups: string[];
  podFolders: string[];
  logFolders: string[];
  logLinks: string[];
}

export const nothingLeft: Leftovers = {
  processes: [],
  mounts: [],
  cgroups: [],
  podFolders: [],
  logFolders: [],
  logLinks: [],
};

export async function findLeftovers(node: {
  rootDir: string;
  podLogsDir: string;
  cgroupRoot: string;
}): Promise<Leftovers> {
  const { rootDir, podLogsDir, cgroupRoot } = node;
  const [processes, mounts, folders, podFolders, logFolders, logLinks] = await Promise.all([
    processesOf(rootDir),
    mountsBelow(rootDir),
    cgroupFolders(cgroupRoot),
    list(join(rootDir, 'pods')),
    list(podLogsDir),
    linksInto(podLogsDir),
  ]);
  return {
    processes: processes.map(({ commandLine }) => commandLine),
    mounts,
    // The test chose the agent's cgroup root and may put other cgroups below it. The agent's own are in this one.
    cgroups: folders.filter((folder) => folder.includes(`${cgroupRoot}/kubepods`)),
    podFolders,
    logFolders,
    logLinks,
  };
}

/** Returns what is mounted below a folder, latest mount first. */
export async function mountsBelow(folder: string): Promise<string[]> {
  const lines = (await readFile('/proc/self/mounts', 'utf8')).split('\n');
  const paths = lines.map((line) => line.split(' ')[1] ?? '');
  return paths.filter((path) => path.startsWith(`${folder}/`)).reverse();
}

/** Returns every cgroup below a root, in every hierarchy, parents first. */
export async function cgroupFolders(cgroupRoot: string): Promise<string[]> {
  const mount = '/sys/fs/cgroup';
  const tops = [mount, ...(await list(mount)).map((name) => join(mount, name))].map((top) => join(top, cgroupRoot));
  const below = tops.map(async (top) => {
    const entries = await readdir(top, { recursive: true, withFileTypes: true }).catch(() => undefined);
    if (entries === undefined) return [];
    return [top, ...entries.filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name))];
  });
  return (await Promise.all(below)).flat().sort();
}

/**
 * Returns all processes in the cgroups below a root, including those of containers, whose command lines reveal nothing.
 */
export async function processesInCgroups(cgroupRoot: string): Promise<number[]> {
  const files = (await cgroupFolders(cgroupRoot)).map((folder) => join(folder, 'cgroup.procs'));
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  return [...new Set(texts.flatMap((text) => text.split('\n')).filter((line) => line !== ''))].map(Number);
}

async function linksInto(folder: string): Promise<string[]> {
  const links = (await list(containerLogLinksDir)).map((name) => join(containerLogLinksDir, name));
  const targets = await Promise.all(links.map((link) => readlink(link).catch(() => '')));
  return links.filter((_, index) => targets[index]?.startsWith(`${folder}/`));
}

async function list(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
