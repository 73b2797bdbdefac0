import { RequestRefused } from '../../errors.ts';
import { decodeObject } from '../../api/decoding/decode-object.ts';
import { manifestSchema } from '../../api/decoding/manifest-schema.ts';
import { setEphemeralContainerDefaults } from '../../api/objects/apply-defaults.ts';
import { ManifestSyntaxError } from '../../api/text/manifest-node.ts';
import { readJson } from '../../api/text/read-json.ts';
import { ReadingBudget } from '../../api/text/reading-budget.ts';
import type { EphemeralContainer, Pod } from '../../api/types.ts';
import { unsafeTexts } from '../../api/validation/unsafe-texts.ts';
import { validateEphemeralContainersOf } from '../../api/validation/validate-containers.ts';

/** A pod has at most this many, because each stays in every snapshot. */
const maxEphemeralContainers = 64;

/**
 * Returns the ephemeral container that a JSON request describes, with defaults. `pod` is the running pod with its
 * present ephemeral containers. Throws a `RequestRefused` that names the first broken rule. kubelet:
 * registry/core/pod/rest EphemeralContainersREST of the API server
 */
export function newEphemeralContainer(pod: Pod, json: string): EphemeralContainer {
  const container = decoded(json);
  const { metadata, spec } = pod;
  const known = spec.ephemeralContainers ?? [];
  const all = [...spec.containers, ...(spec.initContainers ?? []), ...known];
  if (all.some(({ name }) => name === container.name)) {
    throw new RequestRefused(
      'conflict',
      `pod ${metadata.name} has a container ${container.name} already`,
      'Choose another name. Names of ephemeral containers are free again after their removal.',
    );
  }
  if (known.length >= maxEphemeralContainers) {
    throw new RequestRefused(
      'conflict',
      `pod ${metadata.name} has ${known.length} ephemeral containers, which is the limit`,
      `Remove some: kubelet-ts debug ${metadata.name} --remove NAME`,
    );
  }
  setEphemeralContainerDefaults(container);
  const added = { metadata, spec: { ...spec, ephemeralContainers: [...known, container] } };
  const texts = unsafeTexts({ metadata, spec: { containers: [], ephemeralContainers: [container] } });
  const [broken] = [...validateEphemeralContainersOf(added), ...texts];
  if (broken === undefined) return container;
  const field = broken.field.replace(/^spec\.ephemeralContainers\[\d+\]\.?/, '');
  throw new RequestRefused('invalid', `${field}: ${broken.type}: ${broken.message}`, broken.hint);
}

/** Unknown fields are errors, because a misspelled field would otherwise start a different container. */
function decoded(json: string): EphemeralContainer {
  const { value, findings } = decodeObject(manifestSchema, 'EphemeralContainer', rootOf(json));
  const [finding] = findings;
  if (finding === undefined) return { name: '', ...value };
  const place = finding.field === '' ? 'the container' : finding.field;
  throw new RequestRefused('invalid', `${place}: ${finding.message}`, finding.hint);
}

function rootOf(json: string): ReturnType<typeof readJson>['root'] {
  try {
    return readJson(json, new ReadingBudget()).root;
  } catch (error) {
    if (!(error instanceof ManifestSyntaxError)) throw error;
    throw new RequestRefused('invalid', `the container is not JSON: ${error.message}`);
  }
}
