import { fieldsOf, loadYAML, noManifest } from './user-data.ts';

/** Attribute in which Google's retired container agent, konlet, looks for its declaration. */
export const containerDeclarationKey = 'gce-container-declaration';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns the Pod of a container declaration. konlet runs its one container on the machine's network, and always
 * restarts it by default. Throws an OriginFailure if the text is not a declaration, or if it uses a persistent disk.
 */
export function podOfDeclaration(text: string): Buffer {
  const {
    containers,
    volumes,
    restartPolicy = 'Always',
  } = fieldsOf(fieldsOf(loadYAML(text, 'the declaration'))['spec']);
  const [container, ...others] = Array.isArray(containers) ? (containers as unknown[]).map(fieldsOf) : [];
  if (container === undefined || others.length > 0) {
    const hint = 'Write a Pod manifest into another attribute, and name it: gce://KEY.';
    throw noManifest('the declaration must have exactly one container in spec.containers', hint);
  }
  const spec = {
    hostNetwork: true,
    restartPolicy,
    containers: [podContainer(container)],
    ...(volumes !== undefined && { volumes: podVolumes(volumes) }),
  };
  return Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: container['name'] }, spec }));
}

/** Returns the same fields, but converts YAML strings to booleans where a Pod has booleans. */
function podContainer({ securityContext, stdin, tty, volumeMounts, ...same }: Fields): Fields {
  return {
    ...same,
    ...(stdin !== undefined && { stdin: truth(stdin) }),
    ...(tty !== undefined && { tty: truth(tty) }),
    ...(securityContext !== undefined && { securityContext: withTruth(fieldsOf(securityContext), 'privileged') }),
    ...(Array.isArray(volumeMounts) && {
      volumeMounts: (volumeMounts as unknown[]).map((mount) => withTruth(fieldsOf(mount), 'readOnly')),
    }),
  };
}

function podVolumes(volumes: unknown): unknown {
  if (!Array.isArray(volumes)) return volumes;
  for (const volume of (volumes as unknown[]).map(fieldsOf)) {
    if (volume['gcePersistentDisk'] === undefined) continue;
    const hint = 'Mount the disk by /etc/fstab, and declare a hostPath of that folder in its place.';
    throw noManifest(`volume ${String(volume['name'])} is a persistent disk, which nothing mounts here`, hint);
  }
  return volumes;
}

const withTruth = (fields: Fields, name: string): Fields =>
  fields[name] === undefined ? fields : { ...fields, [name]: truth(fields[name]) };

/** A string that is not a boolean stays, so that the Pod's decoder reports it. */
const truth = (value: unknown): unknown => (value === 'true' ? true : value === 'false' ? false : value);
