import { expect, test } from 'vitest';
import type { PullVerification } from '../../../src/api/values/pull-verification.ts';
import {
  computeImageAccess,
  type ImageAccess,
  type ImageAccessFacts,
} from '../../../src/engine/images/image-access.ts';
import type { ImagePullCredentials, ImagePullSecret } from '../../../src/engine/images/pull-record.ts';

const image = 'r.example/team/app:1';
const repository = 'r.example/team/app';
const id = `sha256:${'a'.repeat(64)}`;

const secret = (name: string, content: string, namespace = 'default', uid = ''): ImagePullSecret => ({
  uid,
  namespace,
  name,
  credentialHash: content,
});

const pulledBy = (
  credentials: Partial<ImagePullCredentials>,
  name = repository,
): Pick<ImageAccessFacts, 'record'> & object => ({
  record: {
    imageRef: id,
    credentialMapping: new Map([[name, { kubernetesSecrets: [], nodePodsAccessible: false, ...credentials }]]),
  },
});

/** A preloaded image, for a pod without Secrets. */
const facts = (changes: Partial<ImageAccessFacts>): ImageAccessFacts => ({
  image,
  names: [image],
  isLoaded: false,
  record: undefined,
  pulling: [],
  secrets: [],
  ...changes,
});

const byDefault: PullVerification = { policy: 'NeverVerifyPreloadedImages', allowlist: [] };
const allowed: ImageAccess = { result: 'credentialPolicyAllowed' };
const found: ImageAccess = { result: 'credentialRecordFound' };
const refused: ImageAccess = { result: 'mustAuthenticate' };

const ada = secret('login', 'ada');

test.each<[string, Partial<ImageAccessFacts>, ImageAccess]>([
  ['an image that the agent did not pull is for every pod', {}, allowed],
  ['one pulled without credentials or with those of the node too', pulledBy({ nodePodsAccessible: true }), found],
  ['one pulled with a Secret is for no pod without Secrets', pulledBy({ kubernetesSecrets: [ada] }), refused],
  ['it is for a pod with that Secret', { ...pulledBy({ kubernetesSecrets: [ada] }), secrets: [ada] }, found],
  [
    'it is for a pod with the same content in another Secret, which is recorded',
    { ...pulledBy({ kubernetesSecrets: [ada] }), secrets: [secret('other', 'ada', 'team')] },
    { ...found, newSecret: secret('other', 'ada', 'team') },
  ],
  [
    'it is for a pod with that Secret after its content changed, which is recorded',
    { ...pulledBy({ kubernetesSecrets: [ada] }), secrets: [secret('login', 'ada-2')] },
    { ...found, newSecret: secret('login', 'ada-2') },
  ],
  [
    'it is not for a pod with another Secret',
    { ...pulledBy({ kubernetesSecrets: [ada] }), secrets: [secret('other', 'bob')] },
    refused,
  ],
  [
    'a Secret of the same name in another namespace is another one',
    { ...pulledBy({ kubernetesSecrets: [ada] }), secrets: [secret('login', 'bob', 'team')] },
    refused,
  ],
  [
    'so is a Secret of an API server',
    {
      ...pulledBy({ kubernetesSecrets: [secret('login', 'ada', 'default', 'u1')] }),
      secrets: [secret('login', 'bob')],
    },
    refused,
  ],
  [
    'a hash that could not be computed matches nothing',
    { ...pulledBy({ kubernetesSecrets: [secret('x', '')] }), secrets: [ada] },
    refused,
  ],
  [
    'any of the Secrets of the pod and of the record may match',
    { ...pulledBy({ kubernetesSecrets: [secret('other', 'bob'), ada] }), secrets: [secret('third', 'eve'), ada] },
    found,
  ],
  ['one pulled by unknown credentials must be pulled', { ...pulledBy({}), secrets: [ada] }, refused],
  ['one whose record is damaged too', { record: 'unknown', secrets: [ada] }, refused],
  ['one that is being pulled too', { pulling: [image] }, refused],
  ['a pull of another image does not matter', { pulling: ['r.example/team/other:1'] }, allowed],
  [
    'another tag of the repository needs the same credentials',
    {
      ...pulledBy({ kubernetesSecrets: [ada] }),
      image: 'r.example/team/app:2',
      names: [image, 'r.example/team/app:2'],
    },
    refused,
  ],
  [
    'so does its digest while a tag is being pulled',
    { image: `${repository}@${id}`, names: [image, `${repository}@${id}`], pulling: [image] },
    refused,
  ],
  [
    'a name that the agent did not pull is preloaded, although the image was pulled by another name',
    { ...pulledBy({ kubernetesSecrets: [ada] }), image: 'localhost/app:1', names: [image, 'localhost/app:1'] },
    allowed,
  ],
  [
    'also while it is pulled by another name',
    { image: 'localhost/app:1', names: [image, 'localhost/app:1'], pulling: [image] },
    allowed,
  ],
  ['its id is no such name', { ...pulledBy({ kubernetesSecrets: [ada] }), image: id }, refused],
  ['nor while it is pulled', { image: id, pulling: [image] }, refused],
  [
    'a short name means the same as the full one',
    { image: 'app', names: ['docker.io/library/app:latest'], pulling: ['app:latest'] },
    refused,
  ],
  [
    'a record of a kubelet without names is one of all names',
    { record: { imageRef: id, credentialMapping: new Map() } },
    refused,
  ],
  [
    'an image from an archive of the agent is for every pod',
    { ...pulledBy({ kubernetesSecrets: [ada] }), isLoaded: true },
    allowed,
  ],
])('by default, %s', (_title, changes, expected) => {
  expect(computeImageAccess(facts(changes), byDefault)).toEqual(expected);
});

const withSecret = pulledBy({ kubernetesSecrets: [ada] });
const allowlisted = (...allowlist: string[]): PullVerification => ({
  policy: 'NeverVerifyAllowlistedImages',
  allowlist,
});

test.each<[PullVerification, Partial<ImageAccessFacts>, ImageAccess]>([
  [{ policy: 'NeverVerify', allowlist: [] }, withSecret, allowed],
  [{ policy: 'NeverVerify', allowlist: [] }, { record: 'unknown' }, allowed],
  [{ policy: 'AlwaysVerify', allowlist: [] }, {}, refused],
  [{ policy: 'AlwaysVerify', allowlist: [] }, { isLoaded: true }, refused],
  [{ policy: 'AlwaysVerify', allowlist: [] }, pulledBy({ nodePodsAccessible: true }), found],
  [{ policy: 'AlwaysVerify', allowlist: [] }, { ...withSecret, secrets: [ada] }, found],
  [allowlisted(), {}, refused],
  [allowlisted(repository), withSecret, allowed],
  [allowlisted('r.example/team/*'), withSecret, allowed],
  [allowlisted('r.example/te/*', 'r.example/team', 'r.example/team/app/*'), withSecret, refused],
  [allowlisted('docker.io/library/*'), { image: 'busybox' }, allowed],
])('the policy %o decides %o', (verification, changes, expected) => {
  expect(computeImageAccess(facts(changes), verification)).toEqual(expected);
});
