import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { Clock } from '../../clock.ts';
import { killGroup } from '../../engine/host/kill-group.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import type { ManifestText } from './manifest-texts.ts';

/** As in kustomize: api/konfig/general.go RecognizedKustomizationFileNames */
const kustomizationFiles: readonly string[] = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'];

/** The first one that is installed builds the folder. */
const builders = [
  { program: 'kustomize', words: ['build'] },
  { program: 'kubectl', words: ['kustomize'] },
] as const;

const timeoutMs = 120_000;
const maxErrorBytes = 4096;

/** True for a folder with a kustomization. False for all other paths, including those that cannot be read. */
export async function isKustomization(path: string): Promise<boolean> {
  const names = await readdir(path).catch(() => []);
  return names.some((name) => kustomizationFiles.includes(name));
}

/**
 * Builds a kustomization by `kustomize build`, else by `kubectl kustomize`. Resolves to its manifests, or to the
 * problem that neither is installed, or that the build failed, took longer than two minutes or made too much. Then it
 * is killed with all its child processes, as it is when a signal ends this process.
 */
export async function buildKustomization(
  folder: string,
  { clock }: { clock: Clock },
): Promise<ManifestText | ManifestProblem> {
  for (const { program, words } of builders) {
    try {
      return { origin: folder, bytes: await outputOf(program, [...words, folder], clock) };
    } catch (error) {
      if (hasCode(error, 'ENOENT')) continue;
      const command = [program, ...words].join(' ');
      return { origin: folder, severity: 'error', message: `${command} failed: ${errorMessage(error)}` };
    }
  }
  return {
    origin: folder,
    severity: 'error',
    message: 'the folder is a kustomization, and neither kustomize nor kubectl is installed',
    hint: 'Install kustomize, or build it elsewhere with kubectl kustomize FOLDER > FILE.yaml and give the file.',
  };
}

async function outputOf(program: string, args: readonly string[], clock: Clock): Promise<Uint8Array> {
  // A process group, so that it can be killed as a whole: it starts git for remote bases.
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const passOn = (signal: NodeJS.Signals): void => {
    killGroup(child);
    process.kill(process.pid, signal);
  };
  process.once('SIGINT', passOn).once('SIGTERM', passOn);
  let cancelTimeout = (): void => undefined;
  const timeout = new Promise<never>((_, reject) => {
    cancelTimeout = clock.after(timeoutMs, () => {
      reject(new Error(`it took longer than ${timeoutMs / 1000} seconds`));
    });
  });
  try {
    const ended = Promise.all([readBounded(child.stdout), readEnd(child.stderr), endOf(child)]);
    const [bytes, errors, end] = await Promise.race([ended, timeout]);
    if (end !== undefined) throw new Error(errors === '' ? end : errors);
    return bytes;
  } catch (error) {
    killGroup(child);
    throw error;
  } finally {
    cancelTimeout();
    process.off('SIGINT', passOn).off('SIGTERM', passOn);
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

async function readBounded(stream: AsyncIterable<Buffer>): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > maxManifestBytes) throw new Error(`its manifests have more than ${maxManifestBytes / 1024 / 1024} MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The last lines of a stream. */
async function readEnd(stream: AsyncIterable<Buffer>): Promise<string> {
  let end = Buffer.alloc(0);
  for await (const chunk of stream) end = Buffer.concat([end, chunk]).subarray(-maxErrorBytes);
  return end.toString('utf8').trim();
}

/** Resolves to the description of a failure, or to undefined. Rejects if the program cannot be started. */
async function endOf(child: ChildProcess): Promise<string | undefined> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (code === 0) return undefined;
  return code === null ? `it was ended by ${signal ?? ''}` : `it ended with exit code ${code}`;
}
