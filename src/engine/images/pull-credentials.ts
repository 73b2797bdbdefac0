import { parseImageName } from '../../api/values/image-name.ts';
import type { Pod } from '../../api/types.ts';
import type { ConfigObjectLookup } from '../../api/values/config-object.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import type { SecretValues } from '../outgoing/secret-values.ts';
import type { DockerConfig, RegistryCredentials } from './docker-config.ts';
import { lookUpCredentials } from './docker-keyring.ts';
import { imagePullSecrets } from './image-pull-secrets.ts';

interface Deps {
  configObjects: ConfigObjectLookup;
  /** What the node itself knows for a repository. It does not reject. */
  nodeCredentials: (repository: string) => Promise<DockerConfig[]>;
  /** Takes the passwords and tokens of the node. */
  secrets: SecretValues;
}

/** With what images are pulled: what the pod brings along, then what the node has. */
export class PullCredentials {
  private readonly deps: Deps;

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** What to try for the image, in this order; none: pull without. Rejects when a Secret of the pod cannot be read. */
  async of(image: string, pod: Pod, recorder: PodEventRecorder): Promise<RegistryCredentials[]> {
    const repository = parseImageName(image)?.repository;
    if (repository === undefined) return [];
    const ofPod = imagePullSecrets(pod, this.deps.configObjects, recorder);
    const ofNode = await this.deps.nodeCredentials(repository);
    const secrets = ofNode.flatMap((config) => [...config.values()].flatMap(spokenSecrets));
    this.deps.secrets.set(`credentials of the node for ${repository}`, secrets);
    return [...lookUpCredentials(ofPod, repository), ...lookUpCredentials(ofNode, repository)];
  }
}

/** What of credentials nobody but the registry may know. */
const spokenSecrets = ({ password, identityToken }: RegistryCredentials): string[] => [password, identityToken];
