import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('checkpoints', '0009_tombstones_of_a_removal'),
        ('runs', '0008_children'),
    ]

    operations = [
        migrations.CreateModel(
            name='ChildHead',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('checkpoint', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='child_heads', to='checkpoints.checkpoint')),
                ('child', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.child')),
                ('head', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='pinned_by', to='checkpoints.checkpoint')),
            ],
        ),
        migrations.AddConstraint(
            model_name='childhead',
            constraint=models.UniqueConstraint(fields=('checkpoint', 'child'), name='child_head_once'),
        ),
    ]
