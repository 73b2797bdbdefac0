import type { Container } from '../../api/types.ts';
import { shellWord } from '../../text/shell-word.ts';
import { reasons } from '../view/reasons.ts';
import type { Finding } from './explanation.ts';
import { type KnownMessage, lastClause, machineMessages, type Meaning, meaningOf } from './known-message.ts';
import {
  eventEvidence,
  named,
  newestEvent,
  nextTry,
  pastEvents,
  type Subject,
  waitingEvidence,
  waitingPart,
} from './subject.ts';

const imageReasons: readonly string[] = [
  reasons.errImagePull,
  reasons.imagePullBackOff,
  reasons.imageInspectError,
  reasons.errImageNeverPull,
  reasons.invalidImageName,
  reasons.registryUnavailable,
  reasons.signatureValidationFailed,
];

/** Explains an image that is not present and cannot be pulled. */
export function explainImage(subject: Subject): Finding | undefined {
  const part = waitingPart(subject, imageReasons);
  if (part === undefined) return undefined;
  const { container, path, status } = part;
  const event = newestEvent(subject, [reasons.failed, reasons.errImageNeverPull, reasons.inspectFailed]);
  const message = status?.state?.waiting?.message ?? event?.message ?? '';
  const pulled = imageMeaning(container.image ?? '', message, container.imagePullPolicy);
  const refusal = pastEvents(subject).findLast(
    ({ containerName, reason, cause }) =>
      containerName === container.name && (cause !== undefined || reason === reasons.errImageNeverPull),
  );
  const meaning = refusal?.cause === 'imageCredentials' ? refusalMeaning(container, refusal.reason, pulled) : pulled;
  return {
    stage: 'image',
    container: container.name,
    field: `${path}.image`,
    cause: `${named(subject, container)}${meaning.cause}`,
    evidence: [waitingEvidence(part), ...(event === undefined ? [] : [eventEvidence(event)])],
    fixes: meaning.fixes,
    ...nextTry(subject),
  };
}

/** Returns the meaning of a present image that the pod may not use, although the failed pull means `pulled`. */
function refusalMeaning({ image = '', imagePullPolicy }: Container, reason: string, pulled: Meaning): Meaning {
  const refusal = `${image} is on this node, but no credentials of this pod pulled it before`;
  const fixes = [
    'Name a Secret of type kubernetes.io/dockerconfigjson that may pull it in spec.imagePullSecrets.',
    'Or give every pod every image of this node: imagePullCredentialsVerificationPolicy: NeverVerify',
  ];
  if (reason !== reasons.errImageNeverPull)
    return { cause: `${refusal}, and pulling it again fails: ${pulled.cause}`, fixes };
  const isNever = imagePullPolicy === 'Never';
  return {
    cause: `${refusal}, and ${isNever ? 'imagePullPolicy Never' : '--offline'} forbids the pull that would check them`,
    fixes,
  };
}

/** Returns the meaning of a failed pull. With the policy Always, the image may be on this node anyway. */
export function imageMeaning(image: string, message: string, pullPolicy = ''): Meaning {
  const ofMachine = meaningOf(machineMessages, message);
  if (ofMachine !== undefined) return ofMachine;
  const isAlways = pullPolicy === 'Always';
  const meaning = meaningOf(pullMessages, message, image, isAlways);
  const { cause, fixes } = meaning ?? { cause: `cannot pull ${image}: ${lastClause(message)}`, fixes: [correct, load] };
  if (!isAlways || invalidName.test(message)) return { ...meaning, cause, fixes };
  const because = `${cause}; imagePullPolicy Always pulls it before each start, even if it is on this node`;
  return { ...meaning, cause: because, fixes: [useOwn, ...fixes] };
}

const invalidName = /couldn't parse image name|invalid reference format/;
const useOwn =
  'To run the image of this node, set imagePullPolicy: IfNotPresent. See whether it has one: kubelet-ts images list';

const correct = 'Correct the name or the tag of the image.';
const load = 'Or load the image from an archive: kubelet-ts images load FILE';
const credentials =
  'Give credentials: name a Secret of type kubernetes.io/dockerconfigjson in spec.imagePullSecrets, or run `docker login` as root.';

/** Returns the registry of an image: Docker Hub for a name without a host. */
function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/');
  return rest.length > 0 && /[.:]|^localhost$/.test(first) ? first : 'docker.io';
}

/** Messages of containerd, CRI-O and registries, the more specific first. */
const pullMessages: readonly KnownMessage<[image: string, isAlways: boolean]>[] = [
  {
    pattern: invalidName,
    cause: (_found, image) => `"${image}" is not an image name`,
    fixes: () => [`${correct} Names are lowercase: [REGISTRY/]NAME[:TAG].`],
  },
  {
    pattern: /not present, and this node is offline(?:\. The pod also lacks: (.*))?/,
    cause: ([, others], image) =>
      `${image} is not on this node, and --offline forbids a pull` +
      (others === undefined ? '' : `; the pod also lacks ${others}`),
    fixes: () => [
      'Where a registry answers: kubelet-ts images pull -f MANIFEST, then kubelet-ts images bundle -o FILE.tar MANIFEST. Load it here: kubelet-ts images load FILE.tar',
      'Or start kubelet-ts without --offline.',
    ],
  },
  {
    pattern: /not present with pull policy of Never/,
    cause: (_found, image) => `${image} is not on this node, and imagePullPolicy Never forbids a pull`,
    fixes: () => [
      'Load the image from an archive: kubelet-ts images load FILE',
      'Or set imagePullPolicy: IfNotPresent.',
    ],
  },
  {
    pattern:
      /(?:lookup ([\w.-]+\w).*)?(?:no such host|server misbehaving)|lookup ([\w.-]+\w).*: (?:i\/o timeout|Temporary failure)/i,
    cause: ([, host, other], image) => `cannot resolve ${host ?? other ?? registryOf(image)}`,
    fixes: ([, host, other], image) => [
      `Check the DNS of this machine: getent hosts ${host ?? other ?? registryOf(image)}`,
      'Correct the registry in the name of the image.',
      load,
    ],
  },
  {
    pattern: /toomanyrequests|\b429\b|rate limit/i,
    cause: (_found, image) => `the registry ${registryOf(image)} limits the number of pulls`,
    fixes: () => [`Wait. ${credentials}`, load],
  },
  {
    pattern: /server gave HTTP response to HTTPS client/,
    cause: (_found, image) => `the registry ${registryOf(image)} speaks HTTP, not HTTPS`,
    fixes: (_found, image) => [
      `Allow HTTP for it: server = "http://${registryOf(image)}" in /etc/containerd/certs.d/${registryOf(image)}/hosts.toml.`,
      load,
    ],
  },
  {
    pattern: /x509|certificate/i,
    cause: (_found, image) => `the certificate of the registry ${registryOf(image)} is not trusted`,
    fixes: (_found, image) => [
      `Add its CA to this machine, or to /etc/containerd/certs.d/${registryOf(image)}/.`,
      'Check the clock of this machine: timedatectl',
    ],
  },
  {
    pattern: /unauthorized|authorization failed|authentication required|access denied|denied:|\b40[13]\b|forbidden/i,
    cause: (_found, image) =>
      `the registry ${registryOf(image)} refuses ${image}: it needs a login, or the name is wrong`,
    fixes: () => [correct, credentials],
  },
  {
    pattern: /no match for platform|no matching manifest|exec format error/i,
    cause: (_found, image) => `${image} has no variant for the processor of this node`,
    fixes: () => ['Choose an image, or a tag, that is built for it: uname -m'],
  },
  {
    pattern: /not found|manifest unknown|does not exist|\b404\b/i,
    cause: (_found, image) => `its registry has no image ${image}`,
    fixes: () => [correct, load],
  },
  {
    pattern:
      /connection refused|i\/o timeout|no route to host|network is unreachable|TLS handshake timeout|deadline exceeded|connection reset|no progress for|\b50\d\b|EOF/i,
    cause: (_found, image, isAlways) =>
      registryOf(image) === 'localhost'
        ? `${isAlways ? '' : `${image} is not on this node, and `}no registry answers at localhost`
        : `the registry ${registryOf(image)} cannot be reached`,
    fixes: (_found, image) =>
      registryOf(image) === 'localhost'
        ? [
            'Look for its name among the images of this node: kubelet-ts images list',
            'Load the image from an archive: kubelet-ts images load FILE',
          ]
        : [`Check the network, a proxy and the firewall: curl -v https://${registryOf(image)}/v2/`, load],
  },
  {
    pattern: /signature/i,
    cause: (_found, image) => `the signature of ${image} is not valid`,
    fixes: () => ['Use a signed image, or correct the policy of the container runtime.'],
  },
];

/** Returns what to do about a program that is empty, such as after a power cut, or of another processor. */
export const execFormatRemedies = (image: string): string[] => [
  `Check the image, and repair it if it is damaged: kubelet-ts images repair ${shellWord(image)}`,
  'Otherwise choose an image that is built for the processor of this node: uname -m',
];
