package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// Limit is how many instances there can be at a time of those that it names: of any type, zone or
// capacity type that it leaves empty.
type Limit struct {
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	Nodes        int    `json:"nodes"`
}

func (l Limit) concerns(labels map[string]string) bool {
	named := map[string]string{
		corev1.LabelInstanceTypeStable: l.InstanceType,
		corev1.LabelTopologyZone:       l.Zone,
		v1.CapacityTypeLabelKey:        l.CapacityType,
	}
	return lo.EveryBy(lo.Entries(named), func(each lo.Entry[string, string]) bool {
		return each.Value == "" || each.Value == labels[each.Key]
	})
}

// scarceCloud is KWOK's, which has any number of each instance, with limits: those in a file of JSON,
// read at each launch. Without that file there are none.
type scarceCloud struct {
	*kwok.CloudProvider
	client client.Client
	kinds  []*cloudprovider.InstanceType
	file   string

	launching sync.Mutex                      // one at a time: the next one must see what this one takes
	launched  map[types.UID]map[string]string // labels, by claim: that says them itself only later
}

func newScarceCloud(
	ctx context.Context, client client.Client, kinds []*cloudprovider.InstanceType, file string,
) *scarceCloud {
	return &scarceCloud{
		CloudProvider: kwok.NewCloudProvider(ctx, client, kinds),
		client:        client,
		kinds:         kinds,
		file:          file,
		launched:      map[types.UID]map[string]string{},
	}
}

// Create launches the cheapest of the offerings that a claim allows and that are left. A claim that
// allows only what the cloud does not know is short too, as on AWS: upstream's dereferences nil for
// some, and tries the others again and again.
func (c *scarceCloud) Create(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	c.launching.Lock()
	defer c.launching.Unlock()
	limits, err := c.limits()
	if err != nil {
		return nil, err
	}
	instances, err := c.instances(ctx)
	if err != nil {
		return nil, err
	}
	full := lo.Filter(limits, func(limit Limit, _ int) bool {
		return lo.CountBy(instances, limit.concerns) >= limit.Nodes
	})
	narrowed, left := narrow(claim, c.kinds, full)
	if len(left) == 0 {
		return nil, cloudprovider.NewInsufficientCapacityError(
			errors.New("nothing that the claim allows is left"))
	}
	created, err := kwok.NewCloudProvider(ctx, whileClaimed{c.client, claim}, left).Create(ctx, narrowed)
	if err == nil {
		c.launched[claim.UID] = created.Labels
	}
	return created, err
}

func (c *scarceCloud) limits() (limits []Limit, err error) {
	text, err := os.ReadFile(c.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &limits)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what capacity there is, %w", err)
	}
	return limits, nil
}

// instances are the labels of each instance: it exists for as long as its claim does.
func (c *scarceCloud) instances(ctx context.Context) ([]map[string]string, error) {
	claims := &v1.NodeClaimList{}
	if err := c.client.List(ctx, claims); err != nil {
		return nil, fmt.Errorf("listing nodeclaims, %w", err)
	}
	there := lo.KeyBy(claims.Items, func(claim v1.NodeClaim) types.UID { return claim.UID })
	c.launched = lo.PickBy(c.launched, func(uid types.UID, _ map[string]string) bool {
		return lo.HasKey(there, uid)
	})
	labels := lo.MapValues(
		lo.PickBy(there, func(_ types.UID, claim v1.NodeClaim) bool { return claim.Status.ProviderID != "" }),
		func(claim v1.NodeClaim, _ types.UID) map[string]string { return claim.Labels },
	)
	return lo.Values(lo.Assign(labels, c.launched)), nil
}

// narrow is a claim that asks only for instance types of which some are left, and these with just the
// offerings that are.
func narrow(
	claim *v1.NodeClaim, kinds []*cloudprovider.InstanceType, full []Limit,
) (*v1.NodeClaim, []*cloudprovider.InstanceType) {
	asked := scheduling.NewNodeSelectorRequirementsWithMinValues(claim.Spec.Requirements...)
	left := lo.FilterMap(kinds, func(kind *cloudprovider.InstanceType, _ int) (*cloudprovider.InstanceType, bool) {
		offerings := lo.Filter(kind.Offerings.Compatible(asked), func(each *cloudprovider.Offering, _ int) bool {
			return !slices.ContainsFunc(full, func(limit Limit) bool { return limit.concerns(labels(kind, each)) })
		})
		return &cloudprovider.InstanceType{
			Name:         kind.Name,
			Requirements: kind.Requirements,
			Offerings:    offerings,
			Capacity:     kind.Capacity,
			Overhead:     kind.Overhead,
		}, len(offerings) > 0 && asked.Get(corev1.LabelInstanceTypeStable).Has(kind.Name)
	})
	names := lo.Map(left, func(kind *cloudprovider.InstanceType, _ int) string { return kind.Name })
	narrowed := claim.DeepCopy()
	for i, each := range narrowed.Spec.Requirements {
		if each.Key == corev1.LabelInstanceTypeStable {
			narrowed.Spec.Requirements[i].Values = lo.Intersect(each.Values, names)
		}
	}
	return narrowed, left
}

func labels(kind *cloudprovider.InstanceType, offering *cloudprovider.Offering) map[string]string {
	return map[string]string{
		corev1.LabelInstanceTypeStable: kind.Name,
		corev1.LabelTopologyZone:       offering.Zone(),
		v1.CapacityTypeLabelKey:        offering.CapacityType(),
	}
}

// whileClaimed is a client that makes the node of a claim only if that has not been deleted meanwhile.
// Upstream's node would come up then, be nobody's, and stay.
type whileClaimed struct {
	client.Client
	claim *v1.NodeClaim
}

func (c whileClaimed) Create(ctx context.Context, node client.Object, options ...client.CreateOption) error {
	claim := &v1.NodeClaim{}
	err := c.Get(ctx, client.ObjectKeyFromObject(c.claim), claim)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err != nil || claim.UID != c.claim.UID || !claim.DeletionTimestamp.IsZero() {
		return nil
	}
	return c.Client.Create(ctx, node, options...)
}
