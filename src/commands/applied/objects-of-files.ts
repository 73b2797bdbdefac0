import { objectTexts, type ObjectText } from '../../api/objects/object-texts.ts';
import { UserError } from '../../errors.ts';
import { manifestTexts, type ManifestText } from '../../node/sources/manifest-texts.ts';
import { buildAll, readManifests, readStdin } from '../../node/sources/read-manifests.ts';
import type { CommandDeps } from '../io/deps.ts';
import { problemReport } from '../io/problem-report.ts';
import { isColoured } from '../io/terminal.ts';

interface Request {
  /** Files, folders, or `-` for stdin. */
  paths: readonly string[];
  /** Folders that kustomize builds. */
  kustomizations?: readonly string[];
  nodeName: string;
  /** The namespace of objects that name none. Undefined means default. */
  namespace: string | undefined;
  /** The consequence to report if a manifest is broken, such as `nothing was applied`. */
  consequence: string;
  /** True if only errors matter, because the objects are deleted. */
  isDeletion?: true;
}

/**
 * The objects of manifest files, without pods that Helm would run at another time. Prints every problem with its line.
 * Rejects with a `UserError` if a problem is an error or an object belongs to another namespace.
 */
export async function objectsOfFiles(request: Request, deps: CommandDeps): Promise<ObjectText[]> {
  const { paths, kustomizations = [], nodeName, namespace, consequence, isDeletion = false } = request;
  const stdin = paths.includes('-') ? await readStdin(deps.stdin) : undefined;
  const built = await buildAll(kustomizations);
  const read = await readManifests({ manifests: paths, nodeName, stdin, kustomizations, allPositions: true });
  const { problems } = read;
  const isBroken = problems.some(({ severity }) => severity === 'error');
  const texts = isBroken ? [] : [...(await manifestTexts(paths, stdin)), ...built.texts];
  const textOf = (origin: string): string | undefined => textFrom(texts, origin);
  for (const problem of problems) {
    if (isDeletion && problem.severity !== 'error') continue;
    const report = problemReport(problem, { textOf, folder: process.cwd(), isColoured: isColoured(deps.stdout) });
    deps.stderr.write(report);
  }
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  if (errors > 0) {
    throw new UserError(`${consequence}, because of the ${errors === 1 ? 'error' : `${errors} errors`} above`);
  }
  const objects = texts
    .flatMap(({ bytes, origin }) => objectTexts(bytes, origin, namespace))
    .filter(({ isOtherHook }) => !isOtherHook);
  const other = objects.find((object) => namespace !== undefined && ![namespace, ''].includes(object.namespace));
  if (other === undefined) return objects;
  throw new UserError(`${other.kind} ${other.name} is in namespace ${other.namespace}, not ${namespace ?? ''}`, {
    hint: `Leave out -n, or give -n ${other.namespace}.`,
  });
}

function textFrom(texts: readonly ManifestText[], origin: string): string | undefined {
  const found = texts.find((text) => text.origin === origin);
  return found && Buffer.from(found.bytes).toString('utf8');
}
