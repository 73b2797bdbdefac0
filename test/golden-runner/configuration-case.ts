import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CommanderError } from 'commander';
import { decodeKubeletConfiguration } from '../../src/api/kubelet-configuration/decode.ts';
import { completeConfiguration } from '../../src/api/kubelet-configuration/set-defaults.ts';
import type { KubeletConfiguration } from '../../src/api/kubelet-configuration/types.ts';
import { UserError } from '../../src/errors.ts';
import { cgroupVersionProblem } from '../../src/node/node-config.ts';
import { BrokenConfiguration } from '../../src/node/options/read-configuration.ts';
import { optionsOf } from './start-case.ts';

/** One recorded configuration; test/golden/config/README.md says what each member means. */
export interface ConfigurationCase {
  name: string;
  config?: string;
  dropIns?: { file: string; text: string }[];
  flags?: string[];
  cgroupVersion?: 1;
  expect: { accepted: boolean; stage: string; errors: string[]; changed?: Record<string, unknown>; absent?: string[] };
}

interface Result {
  /** Fields of the errors. Absent for an accepted configuration; empty where the recording names none. */
  refusedFor: string[] | undefined;
  configuration?: Record<string, unknown>;
}

/** The configuration that was recorded, and ours. `folder` has the recorded defaults. */
export async function replayConfiguration(
  recorded: ConfigurationCase,
  folder: string,
): Promise<{ expected: Result; actual: Result }> {
  const { accepted, stage, errors } = recorded.expect;
  const actual = await ourResult(recorded);
  if (accepted)
    return { expected: { refusedFor: undefined, configuration: recordedConfiguration(recorded, folder) }, actual };
  const namesFields = stage === 'gates' || stage === 'validation';
  const expected = { refusedFor: namesFields ? [...new Set(errors.map(fieldHere))].sort() : [] };
  const found = actual.refusedFor?.filter((field) => !isFoundLater(field));
  if (actual.refusedFor === inFlags) return { expected: actual, actual };
  if (found === undefined || stage === 'validation') return { expected, actual: { ...actual, refusedFor: found } };
  // The original stops at the first wrong gate; here all mistakes are reported at once.
  return {
    expected,
    actual: { refusedFor: stage === 'gates' ? found.filter((field) => field === 'featureGates') : [] },
  };
}

/** An error of flags does not say which fields they set. */
const inFlags: string[] = ['flags'];

/** True for a field whose mistakes a kubelet finds only after its validation. */
export function isFoundLater(field: string): boolean {
  return /^(?:containerLogMaxSize|eviction|kubeReserved$|qosReserved|systemReserved$)/.test(field);
}

/** An error about two fields names the one that is written. */
function fieldHere(field: string): string {
  return /^(?:kube|system)ReservedCgroup$/.test(field) ? 'enforceNodeAllocatable' : field;
}

async function ourResult(recorded: ConfigurationCase): Promise<Result> {
  const base = await mkdtemp(join(tmpdir(), 'golden-config-'));
  try {
    const folder = join(base, 'mnt');
    await mkdir(folder);
    const options = await optionsOf(await writtenFlags(recorded, folder));
    const problem = cgroupVersionProblem(options, { cgroupVersion: recorded.cgroupVersion ?? 2 });
    if (problem) return { refusedFor: [problem.field] };
    const isPathFlag = recorded.flags?.some((flag) => flag.startsWith('--pod-manifest-path')) ?? false;
    const [staticPodPath = ''] = isPathFlag ? options.manifestPaths : [options.configuration.staticPodPath];
    return { refusedFor: undefined, configuration: comparable({ ...options.configuration, staticPodPath }, base) };
  } catch (error) {
    if (!(error instanceof UserError || error instanceof CommanderError)) throw error;
    if (!(error instanceof BrokenConfiguration)) return { refusedFor: inFlags };
    const fields = error.problems.flatMap(({ field = '', severity }) =>
      severity === 'error' ? [field.replace(/\[.*/, '')] : [],
    );
    return { refusedFor: [...new Set(fields)].sort() };
  } finally {
    await rm(base, { recursive: true });
  }
}

/** Writes the files below `folder`, which stands for /mnt. Returns the flags that name them. */
async function writtenFlags(
  { config, dropIns = [], flags = [] }: ConfigurationCase,
  folder: string,
): Promise<string[]> {
  const configPath = join(folder, 'config.yaml');
  const dropInFolder = join(folder, 'conf.d');
  if (config !== undefined) await writeFile(configPath, config);
  for (const { file, text } of dropIns) {
    const path = join(dropInFolder, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return [
    ...(config === undefined ? [] : [`--config=${configPath}`]),
    ...(dropIns.length === 0 ? [] : [`--config-dir=${dropInFolder}`]),
    ...flags,
  ];
}

function recordedConfiguration({ expect }: ConfigurationCase, folder: string): Record<string, unknown> {
  const defaults = JSON.parse(readFileSync(join(folder, 'defaults.json'), 'utf8')) as Record<string, unknown>;
  const kind = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
  const members = Object.entries({ ...kind, ...defaults, failCgroupV1: false, ...expect.changed });
  const present = members.filter(([name]) => expect.absent?.includes(name) !== true);
  const { given } = decodeKubeletConfiguration(JSON.stringify(Object.fromEntries(present)), 'recorded');
  return comparable(completeConfiguration(given ?? {}), '');
}

/** Fields of our own, and the runtime's socket, which is found when none is named. */
const notCompared = ['containerRuntimeEndpoint', 'controlGroup', 'evictionPolicy', 'runtimeClasses'];

/** With paths below `base` as paths below the root. */
function comparable(configuration: KubeletConfiguration, base: string): Record<string, unknown> {
  const text = base === '' ? JSON.stringify(configuration) : JSON.stringify(configuration).replaceAll(base, '');
  const members = Object.entries(JSON.parse(text) as Record<string, unknown>);
  return Object.fromEntries(members.filter(([name]) => !notCompared.includes(name)));
}
