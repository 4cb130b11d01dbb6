// Karpenter with KWOK's cloud, in which instances can be scarce (scarce.go): the file capacity.json
// beside that of the instance types limits them. All else is as in upstream's main.
package main

import (
	"path/filepath"

	"github.com/samber/lo"
	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	"sigs.k8s.io/karpenter/kwok/options"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/controllers"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator"
)

func main() {
	ctx, op := operator.NewOperator()
	kinds := lo.Must(kwok.ConstructInstanceTypes(ctx))
	capacity := filepath.Join(filepath.Dir(options.FromContext(ctx).InstanceTypesFilePath), "capacity.json")
	cloud := newScarceCloud(ctx, op.GetClient(), kinds, capacity)
	decorated := overlay.Decorate(cloud, op.GetClient(), op.InstanceTypeStore)
	cluster := state.NewCluster(op.Clock, op.GetClient(), decorated)
	op.WithControllers(ctx, controllers.NewControllers(
		ctx,
		op.Manager,
		op.Clock,
		op.GetClient(),
		op.EventRecorder,
		decorated,
		cloud,
		cluster,
		op.InstanceTypeStore,
	)...).Start(ctx)
}
