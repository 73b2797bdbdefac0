import { chmod, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import type { RuntimeConnection } from '../../src/node/runtime-connection.ts';
import {
  parseRelease,
  recordedCgroupRoot,
  recordedImageId,
  type RecordedRelease,
} from '../releases/recorded-release.ts';
import type { Agent } from './agent.ts';
import { busybox } from './manifests.ts';
import { repository } from './program.ts';
import { untilGone } from './until-gone.ts';

const pathOf = (commit: string): string => join(repository, `test/releases/${commit}.json`);

export const readRelease = async (commit: string): Promise<RecordedRelease> =>
  parseRelease(await readFile(pathOf(commit), 'utf8'));

/**
 * Creates the sandboxes and containers of a release by sending its requests, and writes its files into the root-dir of
 * the agent, which is not running.
 */
export async function replayRelease(
  commit: string,
  { rootDir, cgroupRoot }: Agent,
  { runtime, images }: Pick<RuntimeConnection, 'runtime' | 'images'>,
): Promise<void> {
  const recorded = await readFile(pathOf(commit), 'utf8');
  const { image } = await images.imageStatus({ image: { image: busybox } });
  const names = new Map([
    [recordedCgroupRoot, cgroupRoot],
    [recordedImageId, image?.id ?? ''],
    ['fake:', 'containerd:'],
  ]);
  const here = (): RecordedRelease => {
    const named = [...names].reduce(
      (text, [from, to]) => text.replaceAll(new RegExp(`${from}(?!\\w)`, 'g'), to),
      recorded,
    );
    return parseRelease(named);
  };

  // The runtime mounts some of them. The ids of containers come later.
  await writeFiles(rootDir, here());
  for (const [index, { id }] of parseRelease(recorded).sandboxes.entries()) {
    const { podSandboxId } = await runtime.runPodSandbox(here().sandboxes[index]?.request);
    names.set(id, podSandboxId);
  }
  for (const [index, { id, exitCode }] of parseRelease(recorded).containers.entries()) {
    const { containerId } = await runtime.createContainer(here().containers[index]?.request);
    names.set(id, containerId);
    await runtime.startContainer({ containerId });
    // It exits by itself, or was stopped.
    if (exitCode === 0)
      await untilGone(join(managedPaths(rootDir).state, 'io.containerd.runtime.v2.task/k8s.io', containerId));
    else if (exitCode !== undefined) await runtime.stopContainer({ containerId });
  }
  for (const { id, isReady } of here().sandboxes) {
    if (!isReady) await runtime.stopPodSandbox({ podSandboxId: id });
  }
  await writeFiles(rootDir, here());
}

async function writeFiles(rootDir: string, { files }: RecordedRelease): Promise<void> {
  for (const { path, mode, text, target } of files) {
    const file = join(rootDir, path);
    if (target !== undefined) {
      await rm(file, { force: true });
      await symlink(target, file);
      continue;
    }
    if (text === undefined) await mkdir(file, { recursive: true });
    else await writeFile(file, text);
    await chmod(file, Number.parseInt(mode, 8));
  }
}
