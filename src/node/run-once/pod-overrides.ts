import type { Container, EnvVar, Pod } from '../../api/types.ts';
import { defaultImagePullPolicy } from '../../api/values/image-name.ts';
import { UserError } from '../../errors.ts';

/** Values of the command line that replace those in manifests. */
export interface PodOverrides {
  /** For every container. A variable of the same name in the manifest is replaced. */
  env: ReadonlyMap<string, string>;
  images: readonly ImageOverride[];
}

/** `--set [CONTAINER.]image=IMAGE` */
export interface ImageOverride {
  /** Undefined for the only container. */
  container: string | undefined;
  image: string;
}

/** The pods with these values. Throws a `UserError` for a container that no pod has, and for an ambiguous one. */
export function overridePods(pods: readonly Pod[], { env, images }: PodOverrides): Pod[] {
  const wanted = new Map(images.map(({ container, image }) => [resolveContainer(container, pods), image]));
  const changed = (container: Container): Container => {
    const image = wanted.get(container.name);
    return {
      ...container,
      ...(image !== undefined && { image, imagePullPolicy: pullPolicy(container, image) }),
      ...(env.size > 0 && { env: withVariables(container.env ?? [], env) }),
    };
  };
  return pods.map((pod) => {
    const { containers, initContainers } = pod.spec;
    const init = initContainers === undefined ? {} : { initContainers: initContainers.map(changed) };
    return { ...pod, spec: { ...pod.spec, ...init, containers: containers.map(changed) } };
  });
}

/** The policy of the manifest, or that of the new image if the manifest has none or the default. */
function pullPolicy({ image = '', imagePullPolicy }: Container, newImage: string): string {
  const wasDefault = imagePullPolicy === undefined || imagePullPolicy === defaultImagePullPolicy(image);
  return wasDefault ? defaultImagePullPolicy(newImage) : imagePullPolicy;
}

function resolveContainer(name: string | undefined, pods: readonly Pod[]): string {
  const regular = new Set(pods.flatMap(({ spec }) => spec.containers.map((container) => container.name)));
  const all = new Set([
    ...pods.flatMap(({ spec }) => (spec.initContainers ?? []).map((init) => init.name)),
    ...regular,
  ]);
  const [only] = regular;
  if (name === undefined && regular.size === 1 && only !== undefined) return only;
  if (name !== undefined && all.has(name)) return name;
  throw new UserError(
    name === undefined ? '--set image=… is ambiguous with several containers' : `--set: no pod has a container ${name}`,
    { hint: `Name one: ${[...all].map((container) => `--set ${container}.image=…`).join(', ')}` },
  );
}

/**
 * References to variables, `$(NAME)`, resolve in order, so a replaced variable keeps its position. Values of the
 * command line have no references: they are passed on unchanged.
 */
function withVariables(own: readonly EnvVar[], given: PodOverrides['env']): EnvVar[] {
  const env = new Map([...given].map(([name, value]) => [name, value.replaceAll('$', () => '$$')]));
  const replaced = own.map((variable) => {
    const value = env.get(variable.name);
    return value === undefined ? variable : { name: variable.name, value };
  });
  const names = new Set(own.map(({ name }) => name));
  const added = [...env].filter(([name]) => !names.has(name)).map(([name, value]) => ({ name, value }));
  return [...added, ...replaced];
}
