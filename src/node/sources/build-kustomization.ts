import { readdir } from 'node:fs/promises';
import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { Clock } from '../../clock.ts';
import { hungHint } from '../../engine/config/file/manifest-paths.ts';
import { boundedOutput } from '../../engine/host/bounded-program.ts';
import { PathGuard } from '../../engine/host/path-guard.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import { readFailure } from '../../files/file-failure.ts';
import type { ManifestText } from './manifest-texts.ts';

/** As in kustomize: api/konfig/general.go RecognizedKustomizationFileNames */
const kustomizationFiles: readonly string[] = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'];

/** The first installed one builds the folder. */
const builders = [
  { program: 'kustomize', words: ['build'] },
  { program: 'kubectl', words: ['kustomize'] },
] as const;

const timeoutMs = 120_000;

/** True for a folder with a kustomization. False for all other paths, including those that hang or cannot be read. */
export async function isKustomization(path: string): Promise<boolean> {
  const names = await new PathGuard({ maxHung: 1 }).run(path, () => readdir(path)).catch(() => []);
  return names.some((name) => kustomizationFiles.includes(name));
}

/**
 * Builds a kustomization with `kustomize build`, or else with `kubectl kustomize`. Resolves to its manifests, or to the
 * problem that neither is installed, or that the build failed, took longer than two minutes or printed too much. Then
 * it is killed with all its child processes, as it is when a signal stops this process.
 */
export async function buildKustomization(
  folder: string,
  { clock }: { clock: Clock },
): Promise<ManifestText | ManifestProblem> {
  try {
    await new PathGuard({ maxHung: 1 }).check(folder);
  } catch (error) {
    return { origin: folder, severity: 'error', message: errorMessage(error), hint: hungHint(folder) };
  }
  for (const { program, words } of builders) {
    try {
      return { origin: folder, bytes: await outputOf(program, [...words, folder], clock) };
    } catch (error) {
      if (hasCode(error, 'ENOENT')) continue;
      return { origin: folder, severity: 'error', ...(await failureOf([program, ...words].join(' '), folder, error)) };
    }
  }
  return {
    origin: folder,
    severity: 'error',
    message: 'the folder is a kustomization, but neither kustomize nor kubectl is installed',
    hint: 'Install kustomize, or build it elsewhere with kubectl kustomize FOLDER > FILE.yaml and name that file.',
  };
}

/** A folder that cannot be read or is no kustomization is reported here, because the programs only log it. */
async function failureOf(
  command: string,
  folder: string,
  error: unknown,
): Promise<Pick<ManifestProblem, 'message' | 'hint'>> {
  const names = await readdir(folder).catch((cause: unknown) => ({ cause }));
  if (!Array.isArray(names)) {
    const message = readFailure(names.cause, 'folder');
    return { message, hint: `Name the folder of a kustomization.yaml. For a URL, run: ${command} URL` };
  }
  if (!names.some((name) => kustomizationFiles.includes(name))) {
    return { message: 'the folder has no kustomization.yaml', hint: 'Create it, or name the folder with -f.' };
  }
  const hint = `Correct the kustomization until this works: ${command} ${folder}`;
  return { message: `${command} failed: ${errorMessage(error)}`, hint };
}

async function outputOf(program: string, words: readonly string[], clock: Clock): Promise<Uint8Array> {
  const stopping = new AbortController();
  const passOn = (signal: NodeJS.Signals): void => {
    stopping.abort();
    process.kill(process.pid, signal);
  };
  process.once('SIGINT', passOn).once('SIGTERM', passOn);
  try {
    return await boundedOutput(program, words, {
      clock,
      timeoutMs,
      maxOutputBytes: maxManifestBytes,
      tooLong: `its manifests have more than ${maxManifestBytes / 1024 / 1024} MiB`,
      quotesErrors: true,
      signal: stopping.signal,
    });
  } finally {
    process.off('SIGINT', passOn).off('SIGTERM', passOn);
  }
}
