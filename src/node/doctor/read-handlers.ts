import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { dropInsOf } from '../../containerd/drop-ins-remark.ts';
import { findContainerd } from '../../containerd/find-containerd.ts';
import { managedPaths } from '../../containerd/managed-paths.ts';
import { type AddedRuntime, runtimesOf } from '../../containerd/merge-drop-ins.ts';
import { readDropIns } from '../../containerd/read-drop-ins.ts';
import { ifPresent } from '../../files/if-present.ts';
import { findProgram, searchFolders } from '../../process/find-program.ts';
import type { NodeOptions } from '../options/node-options.ts';
import { readManifests } from '../sources/read-manifests.ts';
import type { HandlerFacts, RuntimeFacts } from './checks/facts.ts';
import type { Fact } from './checks/finding.ts';

/** Reads what extends the runtime: drop-ins of the managed containerd, and classes that name their runtimes. */
export async function readHandlers(options: NodeOptions, runtime: Fact<RuntimeFacts>): Promise<HandlerFacts> {
  const isManaged = 'value' in runtime && runtime.value.kind === 'chosen' && runtime.value.managed;
  const [dropIns, classes] = await Promise.all([
    isManaged ? readManagedDropIns(options.runtimeRootDir) : undefined,
    readClasses(options),
  ]);
  return { classes, ...(dropIns !== undefined && { dropIns }) };
}

async function readManagedDropIns(rootDir: string): Promise<HandlerFacts['dropIns']> {
  // The check of the runtime says that it is missing.
  const installed = await findContainerd().catch(() => undefined);
  if (installed === undefined) return undefined;
  const { dropIns: folder, configFile, logFile } = managedPaths(rootDir);
  const { accepted, refused, unknown } = await readDropIns(folder, installed);
  const config = (await ifPresent(readFile(configFile, 'utf8'))) ?? '';
  const folders = [dirname(installed.containerd), ...searchFolders(process.env['PATH'])];
  const runtimes = accepted.flatMap(({ file, config: added }) =>
    runtimesOf(added).map(async (one) => ({ name: one.name, file, missing: await missingPrograms(one, folders) })),
  );
  const { isLeftOut } = dropInsOf(config);
  return { folder, logFile, refused, unknown, isLeftOut, runtimes: await Promise.all(runtimes) };
}

/** containerd: pkg/shim BinaryName */
async function missingPrograms({ type = '', program }: AddedRuntime, folders: readonly string[]): Promise<string[]> {
  const shim = type === '' || type.startsWith('/') ? type : `containerd-shim-${type.split('.').slice(-2).join('-')}`;
  const found = [shim, program ?? ''].map(async (name) => {
    if (name === '') return [];
    const isThere = name.startsWith('/') ? await isExecutable(name) : (await findProgram(name, folders)) !== undefined;
    return isThere ? [] : [name];
  });
  return (await Promise.all(found)).flat();
}

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

async function readClasses(options: NodeOptions): Promise<HandlerFacts['classes']> {
  const { manifestPaths, nodeName, rootDir, featureGates, runtimeClasses } = options;
  const node = { nodeName, rootDir, featureGates };
  const { configObjects = [] } = await readManifests({ manifests: manifestPaths, stdin: undefined, ...node });
  return [...runtimeClasses, ...configObjects].flatMap((object) =>
    object.kind === 'RuntimeClass' ? { name: object.name, handler: object.handler } : [],
  );
}
