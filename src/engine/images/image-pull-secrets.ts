import type { Pod } from '../../api/types.ts';
import { errorMessage } from '../../errors.ts';
import type { ConfigData, ConfigObjectLookup } from '../../api/values/config-object.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import { reasons } from '../view/reasons.ts';
import { type DockerConfig, parseDockercfg, parseDockerConfigJSON } from './docker-config.ts';

/** Types of Secrets with credentials, and the key of their data. */
const forms = new Map([
  ['kubernetes.io/dockerconfigjson', { key: '.dockerconfigjson', parse: parseDockerConfigJSON }],
  ['kubernetes.io/dockercfg', { key: '.dockercfg', parse: parseDockercfg }],
]);

/**
 * Credentials from the pod's imagePullSecrets. Reports a missing Secret as an event and skips it. Throws if one is
 * malformed. kubelet: kubelet_pods.go getPullSecretsForPod, credentialprovider/secrets/secrets.go MakeDockerKeyring
 */
export function imagePullSecrets(
  { metadata: { namespace }, spec }: Pod,
  configObjects: ConfigObjectLookup,
  recorder: PodEventRecorder,
): DockerConfig[] {
  const names = (spec.imagePullSecrets ?? []).flatMap(({ name }) => (name === undefined || name === '' ? [] : [name]));
  const secrets = names.map((name) => ({ name, secret: configObjects.get('Secret', namespace, name) }));
  const missing = secrets.filter(({ secret }) => secret === undefined).map(({ name }) => name);
  if (missing.length > 0) {
    recorder.warning(
      reasons.failedToRetrieveImagePullSecret,
      `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`,
    );
  }
  return secrets.flatMap(({ secret }) => (secret === undefined ? [] : readSecret(secret)));
}

/** A Secret of another type holds no credentials. */
function readSecret({ name, type, data }: ConfigData): DockerConfig[] {
  const form = forms.get(type);
  const bytes = form && data.get(form.key);
  if (form === undefined || bytes === undefined || bytes.length === 0) return [];
  try {
    return [form.parse(new TextDecoder().decode(bytes))];
  } catch (error) {
    throw new Error(`image pull secret "${name}": ${form.key} ${errorMessage(error)}`, { cause: error });
  }
}
