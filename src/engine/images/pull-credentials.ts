import { parseImageName } from '../../api/values/image-name.ts';
import type { Pod } from '../../api/types.ts';
import type { ConfigObjectLookup } from '../../api/values/config-object.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import type { SecretValues } from '../redaction/secret-values.ts';
import type { DockerConfig, RegistryCredentials } from './docker-config.ts';
import { lookUpCredentials } from './docker-keyring.ts';
import { imagePullSecrets } from './image-pull-secrets.ts';

interface Deps {
  configObjects: ConfigObjectLookup;
  /** The node's own credentials for a repository. Never rejects. */
  nodeCredentials: (repository: string) => Promise<DockerConfig[]>;
  /** Gets the node's passwords and tokens, to hide them in texts. */
  secrets: SecretValues;
}

/** Credentials for image pulls: the pod's, then the node's. */
export class PullCredentials {
  constructor(private readonly deps: Deps) {}

  /**
   * Credentials to try for the image, in order. Empty if it is pulled without. Rejects if a Secret of the pod is
   * malformed.
   */
  async of(image: string, pod: Pod, recorder: PodEventRecorder): Promise<RegistryCredentials[]> {
    const repository = parseImageName(image)?.repository;
    if (repository === undefined) return [];
    const ofPod = imagePullSecrets(pod, this.deps.configObjects, recorder);
    const ofNode = await this.deps.nodeCredentials(repository);
    const secrets = ofNode.flatMap((config) => [...config.values()].flatMap(secretParts));
    this.deps.secrets.set(`credentials of the node for ${repository}`, secrets);
    return [...lookUpCredentials(ofPod, repository), ...lookUpCredentials(ofNode, repository)];
  }
}

/** The secret parts of credentials. */
const secretParts = ({ password, identityToken }: RegistryCredentials): string[] => [password, identityToken];
