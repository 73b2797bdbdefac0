import { type LabelledNode, matchesLabelSelector, matchesNodeSelector } from '../../api/values/node-selector.ts';
import type { ClaimName, PersistentVolume, PersistentVolumeClaim } from '../../api/values/persistent-volume.ts';
import { compareQuantities, toQuantity } from '../../api/values/quantity.ts';

/** The storage of a claim: a folder that we create, or a declared volume. */
export type Binding =
  { type: 'folder' } | { type: 'volume'; volume: PersistentVolume } | { type: 'unbound'; because: string };

/** Stands for the holder of a volume if its record is damaged. No claim has this name. */
export const unknownClaim: ClaimName = { namespace: '', name: '' };

interface BindingRequest {
  claim: PersistentVolumeClaim;
  /** Every declared volume. */
  volumes: readonly PersistentVolume[];
  /** By volume name, the claim that was bound to it. The volume need not be declared any more. */
  holders: ReadonlyMap<string, ClaimName>;
  /** True if the claim has a folder. */
  hasFolder: boolean;
  node: LabelledNode;
}

/**
 * Returns the storage of a claim: the volume that it names, else its earlier storage, else the smallest volume that
 * fits, else a folder. A claim gets no folder if it has a selector, an empty class, or the class of a declared volume.
 * kubelet: pkg/controller/volume/persistentvolume pv_controller.go syncUnboundClaim
 */
export function computeBinding(request: BindingRequest): Binding {
  const { claim, volumes, hasFolder } = request;
  if (claim.volumeName !== undefined) return bindingByName(request, claim.volumeName);
  const held = heldVolume(request);
  if (held !== undefined) return bindingByName(request, held);
  if (hasFolder) return { type: 'folder' };
  const wanted = volumes.find(({ claimRef }) => claimRef !== undefined && isSame(claimRef, claim));
  if (wanted !== undefined) return bindingByName(request, wanted.name);
  const ofClass = volumes.filter(({ storageClassName }) => storageClassName === (claim.storageClassName ?? ''));
  const unfit = ofClass.map((volume) => ({ volume, because: unfitBecause(request, volume) }));
  const fitting = unfit.flatMap(({ volume, because }) => (because === undefined ? [volume] : []));
  const [smallest] = fitting.toSorted((a, b) => compareQuantities(toQuantity(a.storage), toQuantity(b.storage)));
  if (smallest !== undefined) return { type: 'volume', volume: smallest };
  if (mayHaveFolder(claim, ofClass)) return { type: 'folder' };
  const reasons = unfit.map(({ volume, because = '' }) => `${volume.name}: ${because}`);
  const ofSelector = claim.selector === undefined ? '' : ', and a claim with a selector gets no folder';
  const because = reasons.length === 0 ? `none of its class is declared${ofSelector}` : reasons.join('; ');
  return { type: 'unbound', because: `no persistent volume fits: ${because}` };
}

function mayHaveFolder({ storageClassName, selector }: PersistentVolumeClaim, ofClass: readonly unknown[]): boolean {
  if (selector !== undefined || storageClassName === '') return false;
  return storageClassName === undefined || ofClass.length === 0;
}

/** Returns the volume that the claim was bound to, if any. */
function heldVolume({ claim, holders }: BindingRequest): string | undefined {
  return [...holders].find(([, holder]) => isSame(holder, claim))?.[0];
}

function bindingByName(request: BindingRequest, name: string): Binding {
  const { claim, volumes, holders } = request;
  const volume = volumes.find((one) => one.name === name);
  if (volume === undefined) return { type: 'unbound', because: `persistentvolume "${name}" not found` };
  const isHeld = isSame(holders.get(name) ?? unknownClaim, claim);
  const because = isHeld ? misplaced(request, volume) : (unfitBecause(request, volume) ?? wrongClass(claim, volume));
  return because === undefined ? { type: 'volume', volume } : { type: 'unbound', because: `${name}: ${because}` };
}

/** A claim without a class may name a volume of any class. */
function wrongClass({ storageClassName }: PersistentVolumeClaim, volume: PersistentVolume): string | undefined {
  if (storageClassName === undefined || storageClassName === volume.storageClassName) return undefined;
  return 'storageClassName does not match';
}

/**
 * Returns why a volume of the claim's class does not fit the claim. Returns undefined if it fits. Messages:
 * checkVolumeSatisfyClaim
 */
function unfitBecause(request: BindingRequest, volume: PersistentVolume): string | undefined {
  const { claim } = request;
  const ofAnother = ofAnotherClaim(request, volume);
  if (ofAnother !== undefined) return ofAnother;
  if (compareQuantities(toQuantity(volume.storage), toQuantity(claim.storage)) < 0) return 'requested PV is too small';
  if (claim.accessModes.some((mode) => !volume.accessModes.includes(mode))) return 'incompatible accessMode';
  if (!matchesLabelSelector(claim.selector ?? {}, volume.labels)) return 'the selector does not match its labels';
  return misplaced(request, volume);
}

/** The record wins over a `claimRef`, because pods of its claim may be using the volume. */
function ofAnotherClaim({ claim, holders }: BindingRequest, { name, claimRef }: PersistentVolume): string | undefined {
  const holder = holders.get(name);
  if (holder === unknownClaim) return 'the record of its claim is damaged';
  const owner = holder ?? claimRef;
  if (owner === undefined || isSame(owner, claim)) return undefined;
  const belongs = `belongs to claim ${owner.namespace}/${owner.name}`;
  if (holder === undefined || claimRef === undefined || isSame(holder, claimRef)) return belongs;
  return `${belongs}, which a later claimRef does not change: declare the volume under another name`;
}

function misplaced({ node }: BindingRequest, { nodeAffinity }: PersistentVolume): string | undefined {
  const terms = nodeAffinity?.required?.nodeSelectorTerms;
  if (terms === undefined || matchesNodeSelector(terms, node)) return undefined;
  return 'no term of its node affinity matches the labels of this node';
}

const isSame = (a: ClaimName, b: ClaimName): boolean => a.namespace === b.namespace && a.name === b.name;
