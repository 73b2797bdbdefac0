import { parseImageName } from '../../api/values/image-name.ts';
import type { Pod } from '../../api/types.ts';
import type { ConfigObjectLookup, ConfigData } from '../../api/values/config-object.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import type { SecretValues } from '../redaction/secret-values.ts';
import { type DockerConfig, type RegistryCredentials, parseDockercfg, parseDockerConfigJSON } from './docker-config.ts';
import { lookUpCredentials } from './docker-keyring.ts';
import { credentialHash, type ImagePullSecret } from './pull-record.ts';
import { errorMessage } from '../../errors.ts';
import { reasons } from '../view/reasons.ts';

/** The types of Secrets that hold credentials, with the key of their data. */
const forms = new Map([
  ['kubernetes.io/dockerconfigjson', { key: '.dockerconfigjson', parse: parseDockerConfigJSON }],
  ['kubernetes.io/dockercfg', { key: '.dockercfg', parse: parseDockercfg }],
]);

interface Deps {
  configObjects: ConfigObjectLookup;
  /** Returns the node's own credentials for a repository. Never rejects. */
  nodeCredentials: (repository: string) => Promise<DockerConfig[]>;
  /** Receives the node's passwords and tokens, so that they are redacted. */
  secrets: SecretValues;
}

/** Credentials to try, and the Secret that holds them. The node's own have none. */
export interface PullLogin {
  auth: RegistryCredentials;
  secret?: ImagePullSecret;
}

/** Credentials for image pulls: the pod's, then the node's. */
export class PullCredentials {
  constructor(private readonly deps: Deps) {}

  /**
   * Resolves with the credentials to try for the image, in order. Empty to pull without any. Rejects if a Secret of the
   * pod is malformed.
   */
  async of(image: string, pod: Pod, recorder: PodEventRecorder): Promise<PullLogin[]> {
    const repository = parseImageName(image)?.repository;
    if (repository === undefined) return [];
    const ofPod = imagePullSecrets(pod, this.deps.configObjects, recorder);
    const ofNode = await this.deps.nodeCredentials(repository);
    const secrets = ofNode.flatMap((config) => [...config.values()].flatMap(secretParts));
    this.deps.secrets.set(`credentials of the node for ${repository}`, secrets);
    return [
      ...lookUpCredentials(ofPod, repository),
      ...lookUpCredentials(ofNode, repository).map((auth): PullLogin => ({ auth })),
    ];
  }

  /** Returns the pod's Secrets with credentials for the image. A pull reports those that are missing or malformed. */
  secretsOf(image: string, pod: Pod): ImagePullSecret[] {
    try {
      const ofPod = imagePullSecrets(pod, this.deps.configObjects, undefined);
      return lookUpCredentials(ofPod, parseImageName(image)?.repository ?? '').flatMap(({ secret }) => secret ?? []);
    } catch {
      return [];
    }
  }
}

/** Returns the secret parts of credentials. */
const secretParts = ({ password, identityToken }: RegistryCredentials): string[] => [password, identityToken];

/**
 * Returns the credentials in the pod's imagePullSecrets. Reports a missing Secret as an event and skips it. Throws if
 * one is malformed. kubelet: kubelet_pods.go getPullSecretsForPod, credentialprovider/secrets/secrets.go
 * MakeDockerKeyring
 */
function imagePullSecrets(
  { metadata: { namespace }, spec }: Pod,
  configObjects: ConfigObjectLookup,
  recorder: PodEventRecorder | undefined,
): ReadonlyMap<string, PullLogin>[] {
  const names = (spec.imagePullSecrets ?? []).flatMap(({ name }) => (name === undefined || name === '' ? [] : [name]));
  const secrets = names.map((name) => ({ name, secret: configObjects.get('Secret', namespace, name) }));
  const missing = secrets.filter(({ secret }) => secret === undefined).map(({ name }) => name);
  if (missing.length > 0) {
    recorder?.warning(
      reasons.failedToRetrieveImagePullSecret,
      `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`,
    );
  }
  return secrets.flatMap(({ secret }) => (secret === undefined ? [] : readSecret(secret).map(withSource(secret))));
}

const withSource =
  ({ namespace, name }: ConfigData) =>
  (config: DockerConfig): ReadonlyMap<string, PullLogin> =>
    new Map(
      [...config].map(([location, auth]) => [
        location,
        { auth, secret: { uid: '', namespace, name, credentialHash: credentialHash(auth) } },
      ]),
    );

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
